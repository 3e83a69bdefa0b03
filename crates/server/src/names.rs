//! Which of many has a name: a table of places in a list whose entries keep their names, so that
//! names stand in memory once. Asked by `registry` for each call.

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// See above. The list is given with each question, and has to be the one that the table is of.
#[derive(Clone, Default)]
pub(crate) struct Names(HashTable<u32>);

impl Names {
    /// The table of a list.
    ///
    /// # Errors
    /// The first name that is there twice.
    pub(crate) fn of<T>(list: &[T], name: impl Fn(&T) -> &str) -> Result<Self, String> {
        let mut names = Self(HashTable::with_capacity(list.len()));
        for entry in list {
            let name_of = |place: usize| name(&list[place]);
            if names.find(name(entry), name_of).is_some() {
                return Err(name(entry).to_owned());
            }
            names.push(name(entry), name_of);
        }
        Ok(names)
    }

    /// Where the entry of that name stands.
    #[inline]
    pub(crate) fn find<'l>(&self, name: &str, name_of: impl Fn(usize) -> &'l str) -> Option<usize> {
        self.0
            .find(hash(name), |place| name_of(*place as usize) == name)
            .map(|place| *place as usize)
    }

    /// One more, at the end of the list.
    pub(crate) fn push<'l>(&mut self, name: &str, name_of: impl Fn(usize) -> &'l str) {
        let place = u32::try_from(self.0.len()).expect("nobody has that many tools");
        self.0.insert_unique(hash(name), place, |place| hash(name_of(*place as usize)));
    }
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn each_name_leads_to_its_place() {
        let mut list: Vec<String> = (0..1000).map(|number| format!("name{number}")).collect();
        let mut names = Names::of(&list, |name| name).expect("they differ");
        list.push("another".to_owned());
        names.push("another", |place| &list[place]);
        for (place, name) in list.iter().enumerate() {
            assert_eq!(names.find(name, |place| &list[place]), Some(place), "{name}");
        }
        assert_eq!(names.find("name1000", |place| &list[place]), None);
        list[7] = "name8".to_owned();
        assert_eq!(Names::of(&list, |name| name).err().as_deref(), Some("name8"));
    }
}
