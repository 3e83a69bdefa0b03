//! URI templates of other servers, read backwards: all of RFC 6570, level 4. Whether an address is
//! one that a template may expand to, and what its variables are then; a value that several
//! variables may have is the first one's. Made by `uri_template` for what it does not know itself.

use crate::uri_template::{BadTemplate, Variables, uri_decoded};

/// See above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expansion(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression { operator: Operator, variables: Vec<Variable> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    /// `*`: each of its values stands by itself.
    is_exploded: bool,
    /// `:n`: so many characters of it at most.
    prefix: Option<usize>,
}

/// What an expression begins with, and stands between its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

impl Operator {
    const ALL: [Self; 7] = [
        Self::Reserved,
        Self::Fragment,
        Self::Label,
        Self::Path,
        Self::Parameter,
        Self::Query,
        Self::Continuation,
    ];

    const fn sign(self) -> Option<char> {
        match self {
            Self::Simple => None,
            Self::Reserved => Some('+'),
            Self::Fragment => Some('#'),
            Self::Label => Some('.'),
            Self::Path => Some('/'),
            Self::Parameter => Some(';'),
            Self::Query => Some('?'),
            Self::Continuation => Some('&'),
        }
    }

    /// What it writes first, if it writes anything.
    const fn first(self) -> Option<char> {
        match self {
            Self::Reserved => None,
            other => other.sign(),
        }
    }

    const fn separator(self) -> char {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ',',
            Self::Label => '.',
            Self::Path => '/',
            Self::Parameter => ';',
            Self::Query | Self::Continuation => '&',
        }
    }

    const fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Whether its values may have such a character as it is.
    const fn may_have(self, character: char) -> bool {
        match self {
            Self::Reserved | Self::Fragment => true,
            Self::Path => !matches!(character, '?' | '#'),
            Self::Query | Self::Continuation => character != '#',
            Self::Simple | Self::Label | Self::Parameter => !matches!(character, '/' | '?' | '#'),
        }
    }
}

impl Expansion {
    pub(crate) fn parse(text: &str) -> Result<Self, BadTemplate> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((literal, after)) = rest.split_once('{') {
            let (expression, after) = after.split_once('}').ok_or(BadTemplate::NotClosed)?;
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            parts.push(expression_of(expression)?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// The variables of an address, or `None` if it does not fit.
    pub(crate) fn matches(&self, uri: &str) -> Option<Variables> {
        let (mut found, mut rest) = (Variables::new(), uri);
        for (place, part) in self.0.iter().enumerate() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Expression { operator, variables } => {
                    let end = self.end(place, *operator, rest)?;
                    let (raw, after) = rest.split_at(end);
                    // What stands before it may have had all of it.
                    let before = place.checked_sub(1).map(|before| &self.0[before]);
                    let is_behind = matches!(before, Some(Part::Expression { .. }));
                    if !(raw.is_empty() && is_behind) {
                        take(*operator, variables, raw, &mut found)?;
                    }
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(found)
    }

    /// Where the expression at a place ends that may begin what is left of an address.
    fn end(&self, place: usize, operator: Operator, rest: &str) -> Option<usize> {
        if let Some(first) = operator.first()
            && !rest.starts_with(first)
        {
            return Some(0);
        }
        let skipped = operator.first().map_or(0, char::len_utf8);
        let end = self.reach(place, operator, &rest[skipped..]);
        match (end, operator.first()) {
            (Some(end), _) => Some(skipped + end),
            // It is not there, and what looks like it is what follows.
            (None, Some(_)) => Some(0),
            (None, None) => None,
        }
    }

    /// How far the values of an expression reach that begin there.
    fn reach(&self, place: usize, operator: Operator, within: &str) -> Option<usize> {
        let run = within.find(|one| !operator.may_have(one)).unwrap_or(within.len());
        for (ahead, next) in self.0[place + 1..].iter().enumerate() {
            let is_last = place + ahead + 2 == self.0.len();
            match next {
                Part::Literal(literal) if is_last => {
                    let start = within.len().checked_sub(literal.len())?;
                    return (within.get(start..)? == literal).then_some(start.min(run));
                }
                Part::Literal(literal) => {
                    return match operator {
                        // What may have slashes ends where its end stands last.
                        Operator::Reserved | Operator::Path => {
                            let mut ends = within.rmatch_indices(literal.as_str());
                            ends.find(|(at, _)| *at <= run).map(|(at, _)| at)
                        }
                        _ => within.find(literal.as_str()).filter(|at| *at <= run),
                    };
                }
                // It need not be there; where it is, this one ends.
                Part::Expression { operator: next, .. } => {
                    let found = next.first().and_then(|first| within[..run].find(first));
                    if found.is_some() {
                        return found;
                    }
                }
            }
        }
        Some(run)
    }
}

/// Reads the values of an expression.
fn take(
    operator: Operator,
    variables: &[Variable],
    raw: &str,
    found: &mut Variables,
) -> Option<()> {
    let Some(values) = operator.first().map_or(Some(raw), |first| raw.strip_prefix(first)) else {
        return raw.is_empty().then_some(());
    };
    if operator.first().is_none() && values.is_empty() {
        return None;
    }
    if operator.is_named() {
        return named(operator, variables, values, found);
    }
    // Of one variable that is not exploded, what separates others is a part of it.
    if let [only] = variables
        && !only.is_exploded
    {
        let is_one = operator != Operator::Path || !values.contains('/');
        return is_one.then(|| keep(only, values, found)).flatten();
    }
    let mut pieces = values.split(operator.separator());
    for (place, variable) in variables.iter().enumerate() {
        if variable.is_exploded {
            let others = variables.len() - place - 1;
            let left: Vec<&str> = pieces.clone().collect();
            let own = left.len().saturating_sub(others);
            for piece in &left[..own] {
                keep(variable, piece, found)?;
                pieces.next();
            }
        } else if let Some(piece) = pieces.next() {
            keep(variable, piece, found)?;
        }
    }
    // Lists are written with commas in one value.
    let is_all = pieces.next().is_none() || operator.separator() == ',';
    is_all.then_some(())
}

fn named(
    operator: Operator,
    variables: &[Variable],
    values: &str,
    found: &mut Variables,
) -> Option<()> {
    for pair in values.split(operator.separator()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = uri_decoded(name)?;
        // The members of a mapping that is exploded have names of their own.
        let of_mapping = || variables.iter().find(|variable| variable.is_exploded);
        let variable =
            variables.iter().find(|variable| variable.name == name).or_else(of_mapping)?;
        keep(variable, value, found)?;
    }
    Some(())
}

fn keep(variable: &Variable, raw: &str, found: &mut Variables) -> Option<()> {
    let value = uri_decoded(raw)?;
    if variable.prefix.is_some_and(|most| value.chars().count() > most) {
        return None;
    }
    match found.get_mut(&variable.name) {
        Some(before) if variable.is_exploded => {
            before.push(',');
            before.push_str(&value);
        }
        Some(before) if variable.prefix.is_none() && !before.starts_with(&value) => {
            // It is there twice, perhaps once its beginning alone.
            if !value.starts_with(before.as_str()) {
                return None;
            }
            *before = value;
        }
        Some(_) => {}
        None => _ = found.insert(variable.name.clone(), value),
    }
    Some(())
}

fn expression_of(text: &str) -> Result<Part, BadTemplate> {
    let unknown = || BadTemplate::Unknown { expression: text.to_owned() };
    let signed = Operator::ALL
        .into_iter()
        .find_map(|operator| Some((operator, text.strip_prefix(operator.sign()?)?)));
    let (operator, list) = signed.unwrap_or((Operator::Simple, text));
    let variables = list.split(',').map(|one| {
        let (one, is_exploded) = one.strip_suffix('*').map_or((one, false), |one| (one, true));
        let (name, prefix) = match one.split_once(':') {
            Some((name, digits)) => (name, Some(digits.parse().map_err(|_| unknown())?)),
            None => (one, None),
        };
        if name.is_empty() {
            return Err(BadTemplate::EmptyName);
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-%".contains(&byte);
        if !name.bytes().all(is_plain) || is_exploded && prefix.is_some() {
            return Err(unknown());
        }
        let name = uri_decoded(name).ok_or_else(unknown)?;
        Ok(Variable { name, is_exploded, prefix })
    });
    Ok(Part::Expression { operator, variables: variables.collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(template: &str, uri: &str) -> Option<String> {
        let variables = Expansion::parse(template).expect("a template").matches(uri)?;
        let pairs = variables.iter().map(|(name, value)| format!("{name}={value}"));
        Some(pairs.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn addresses_that_templates_expand_to_are_known_again() {
        for (template, uri, expected) in [
            ("r://{a}/{b}/contents{/path*}", "r://x/y/contents", Some("a=x b=y")),
            (
                "r://{a}/{b}/contents{/path*}",
                "r://x/y/contents/d/f.rs",
                Some("a=x b=y path=d,f.rs"),
            ),
            (
                "r://{a}/heads/{b}/contents{/path*}",
                "r://x/heads/m/contents/a",
                Some("a=x b=m path=a"),
            ),
            ("r://{a}/contents{/path*}", "r://x/content", None),
            ("r://{a}/contents{/path*}", "r://x/contents/a?b", None),
            ("r://a{/x,y}", "r://a/1/2", Some("x=1 y=2")),
            ("r://a{/x,y}", "r://a/1", Some("x=1")),
            ("r://a{/x,y}", "r://a/1/2/3", None),
            ("r://a{/x}/end", "r://a/1/end", Some("x=1")),
            ("r://a{/x}/end", "r://a/end", Some("")),
            ("r://{x,y}", "r://1,2", Some("x=1 y=2")),
            ("r://{x}", "r://1,2", Some("x=1,2")),
            ("r://{x:3}", "r://abc", Some("x=abc")),
            ("r://{x:3}", "r://abcd", None),
            ("r://{x:1}/{x}", "r://a/abc", Some("x=abc")),
            ("r://{x}/{x}", "r://a/b", None),
            ("r://{+path}{?q,n}", "r://a/b?q=1&n=2", Some("n=2 path=a/b q=1")),
            ("r://{+path}{?q,n}", "r://a/b?n=2", Some("n=2 path=a/b")),
            ("r://{+path}{?q,n}", "r://a/b", Some("path=a/b")),
            ("r://{+path}{?q,n}", "r://a/b?z=1", None),
            ("r://a{?list*}", "r://a?list=1&list=2", Some("list=1,2")),
            ("r://a{?map*}", "r://a?k=1", Some("map=1")),
            ("r://a?fixed=1{&x}", "r://a?fixed=1&x=2", Some("x=2")),
            ("r://a?fixed=1{&x}", "r://a?fixed=1", Some("")),
            ("r://a{;x,y}", "r://a;x=1;y", Some("x=1 y=")),
            ("r://a{.ext}", "r://a.tar.gz", Some("ext=tar.gz")),
            ("r://{name}{.ext}", "r://a.md", Some("ext=md name=a")),
            ("r://{name}{.ext}", "r://a", Some("name=a")),
            ("r://a{#part}", "r://a#b/c", Some("part=b/c")),
            ("r://{+path}{#part}", "r://a/b#c", Some("part=c path=a/b")),
            ("r://{x}{y}", "r://ab", Some("x=ab")),
            ("r://{x}", "r://%c3%bc", Some("x=ü")),
            ("r://{x}", "r://%zz", None),
            ("r://{x}", "r://", None),
            ("r://{x}", "r://a/b", None),
            ("r://{x}/ü", "r://é/ü", Some("x=é")),
            ("r://{x}-ü-{y}", "r://é-ü-ö", Some("x=é y=ö")),
        ] {
            assert_eq!(found(template, uri).as_deref(), expected, "{template} {uri}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for text in
            ["r://{x", "r://{}", "r://{?}", "r://{x:a}", "r://{x:3*}", "r://{=x}", "r://{|x}"]
        {
            assert!(Expansion::parse(text).is_err(), "{text}");
        }
    }
}
