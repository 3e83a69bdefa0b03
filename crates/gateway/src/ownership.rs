//! Whose names and addresses are before anybody has said them: those that begin as the file says
//! are its upstream's, and those of a family are of who has the family first, also while that one
//! is away. Asked by `catalogue`; what is there twice is for its names.

use haft_server::uri_matched;
use std::collections::HashSet;
use std::sync::Arc;

/// What the names of upstreams begin with: the longest counts, and of equals the first.
#[derive(Clone, Default)]
pub(crate) struct Prefixes(Arc<[(Box<str>, Arc<str>)]>);

impl Prefixes {
    /// Those of upstreams, in the order of the file.
    pub(crate) fn new(all: &[(&str, Arc<str>)]) -> Self {
        let mut all: Vec<_> =
            all.iter().map(|(prefix, of)| ((*prefix).into(), Arc::clone(of))).collect();
        all.sort_by_key(|(prefix, _): &(Box<str>, Arc<str>)| usize::MAX - prefix.len());
        Self(all.into())
    }

    /// The upstream whose a name is, and the prefix that says so, if it is not this one's.
    pub(crate) fn other(&self, name: &str, upstream: &Arc<str>) -> Option<(&str, &str)> {
        let (prefix, owner) = self.0.iter().find(|(prefix, _)| name.starts_with(&**prefix))?;
        (owner != upstream).then_some((prefix, owner))
    }
}

/// Families of resources, of the file and of upstreams that stand before others in it.
#[derive(Default)]
pub(crate) struct Families(Vec<Family>);

struct Family {
    template: Box<str>,
    /// What all its addresses begin with.
    beginning: usize,
    /// Nobody, if it is the file's.
    owner: Option<Arc<str>>,
}

impl Families {
    /// Those of the file.
    pub(crate) fn new(own: &HashSet<String>) -> Self {
        let mut families = Self::default();
        own.iter().for_each(|template| families.push(template, None));
        families
    }

    /// Those of an upstream, once its resources are known.
    pub(crate) fn add<'t>(&mut self, owner: &Arc<str>, templates: impl Iterator<Item = &'t str>) {
        templates.for_each(|template| self.push(template, Some(Arc::clone(owner))));
    }

    fn push(&mut self, template: &str, owner: Option<Arc<str>>) {
        let beginning = template.find('{').unwrap_or(template.len());
        self.0.push(Family { template: template.into(), beginning, owner });
    }

    /// # Errors
    /// A clause that says in whose family an address is.
    pub(crate) fn check(&self, uri: &str, upstream: &Arc<str>) -> Result<(), String> {
        let is_in = |family: &&Family| {
            family.owner.as_ref() != Some(upstream)
                && uri.starts_with(&family.template[..family.beginning])
                && uri_matched(&family.template, uri).is_some()
        };
        let Some(Family { template, owner, .. }) = self.0.iter().find(is_in) else { return Ok(()) };
        Err(match owner {
            Some(owner) => format!("it is one of `{template}` of the upstream `{owner}`"),
            None => format!("it is one of `{template}` of this server's file"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_the_longest_prefix() {
        let of = |name: &str| -> Arc<str> { name.into() };
        let prefixes = Prefixes::new(&[("", of("bare")), ("a_", of("a")), ("a_b_", of("ab"))]);
        for (name, upstream, expected) in [
            ("a_x", "a", None),
            ("a_x", "bare", Some(("a_", "a"))),
            ("a_b_x", "ab", None),
            ("a_b_x", "a", Some(("a_b_", "ab"))),
            ("x", "bare", None),
            ("x", "a", Some(("", "bare"))),
        ] {
            assert_eq!(prefixes.other(name, &of(upstream)), expected, "{name} of {upstream}");
        }
        assert_eq!(Prefixes::default().other("x", &of("a")), None);
    }

    #[test]
    fn an_address_is_of_the_first_family_that_has_it() {
        let (files, other): (Arc<str>, Arc<str>) = ("files".into(), "other".into());
        let mut families = Families::new(&HashSet::from(["own:{x}".to_owned()]));
        families.add(&files, ["file:///{+path}"].into_iter());
        for (uri, upstream, is_free) in [
            ("file:///etc/passwd", &other, false),
            ("file:///etc/passwd", &files, true),
            ("files:///etc", &other, true),
            ("own:a", &files, false),
            ("own:a/b", &files, true),
        ] {
            assert_eq!(families.check(uri, upstream).is_ok(), is_free, "{uri} of {upstream}");
        }
    }
}
