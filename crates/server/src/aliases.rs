//! Names by which few entries of a list can be found beside their own: a table like that of the
//! names, of these entries alone. Kept by `registry`.

use crate::names::Names;

/// See above. The list is given with each question, as to [`Names`].
#[derive(Default)]
pub(crate) struct Aliases {
    /// Where the entries stand that have one.
    places: Vec<u32>,
    names: Names,
}

impl Aliases {
    /// Those of a list. Of two that are alike the first counts.
    pub(crate) fn of<T>(list: &[T], alias: impl Fn(&T) -> Option<&str>) -> Self {
        let mut all = Self::default();
        for (place, entry) in list.iter().enumerate() {
            let Some(name) = alias(entry) else { continue };
            if all.find(list, &alias, name).is_some() {
                continue;
            }
            all.places.push(u32::try_from(place).expect("nobody has that many tools"));
            let (places, names) = (&all.places, &mut all.names);
            names.push(name, |at| alias(&list[places[at] as usize]).unwrap_or_default());
        }
        all
    }

    /// Where the entry stands that has this one.
    pub(crate) fn find<T>(
        &self,
        list: &[T],
        alias: impl Fn(&T) -> Option<&str>,
        name: &str,
    ) -> Option<usize> {
        let place = |at: usize| self.places[at] as usize;
        self.names.find(name, |at| alias(&list[place(at)]).unwrap_or_default()).map(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_leads_to_the_first_entry_that_has_it_and_no_entry_needs_one() {
        let list: Vec<Option<String>> = (0..1000)
            .map(|number| (number % 3 == 0).then(|| format!("name{}", number / 6)))
            .collect();
        let all = Aliases::of(&list, |entry| entry.as_deref());
        for (place, name) in list.iter().enumerate() {
            let Some(name) = name else { continue };
            let found = all.find(&list, |entry| entry.as_deref(), name);
            assert_eq!(found, Some(place - place % 6), "{name}");
        }
        assert_eq!(all.find(&list, |entry| entry.as_deref(), "name999"), None);
        assert_eq!(all.find(&list, |entry| entry.as_deref(), ""), None);
        assert_eq!(Aliases::default().find(&list, |entry| entry.as_deref(), "name0"), None);
    }
}
