//! Which scopes are asked for (Authorization, "Scope Selection Strategy", "Step-Up Authorization
//! Flow"): what the challenge names or else all that the resource has, never fewer than before.

use crate::limits::{SCOPES_BYTES_MAX, SCOPES_MAX};

/// The scope that makes an authorization server give a refresh token (OpenID Connect Core, 11).
const OFFLINE: &str = "offline_access";

/// What is known when a token is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known<'a> {
    /// What the challenge names.
    pub(crate) challenged: Option<&'a str>,
    /// What the resource's metadata lists.
    pub(crate) of_resource: &'a [String],
    /// What the authorization server lists.
    pub(crate) of_server: &'a [String],
    /// What was asked for before, at the same authorization server for the same resource.
    pub(crate) before: &'a [String],
}

/// The scopes to ask for; none leaves them to the authorization server.
pub(crate) fn wanted(known: &Known<'_>) -> Vec<String> {
    let mut wanted: Vec<String> = known.before.to_vec();
    let challenged = known.challenged.map(split).filter(|scopes| !scopes.is_empty());
    let more = challenged.unwrap_or_else(|| match known.before {
        [] => known.of_resource.iter().map(String::as_str).filter(is_scope).collect(),
        _ => Vec::new(),
    });
    add(&mut wanted, more);
    // A client that wants refresh tokens may ask for it where it exists, and only there.
    if !wanted.is_empty() && known.of_server.iter().any(|scope| scope == OFFLINE) {
        add(&mut wanted, vec![OFFLINE]);
    }
    wanted
}

/// Scopes as they stand in a challenge or an answer, separated by spaces.
pub(crate) fn split(text: &str) -> Vec<&str> {
    text.split(' ').filter(is_scope).take(SCOPES_MAX).collect()
}

/// Whether everything that is needed was asked for already.
pub(crate) fn covers(had: &[String], needed: &str) -> bool {
    split(needed).iter().all(|scope| had.iter().any(|had| had == scope))
}

fn add(scopes: &mut Vec<String>, more: Vec<&str>) {
    for scope in more {
        let bytes: usize = scopes.iter().map(|known| known.len() + 1).sum();
        let has_room = scopes.len() < SCOPES_MAX && bytes + scope.len() <= SCOPES_BYTES_MAX;
        if has_room && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
}

/// RFC 6749, 3.3: printable ASCII without space, quote and backslash.
fn is_scope(scope: &&str) -> bool {
    !scope.is_empty()
        && scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn check(challenged: Option<&str>, [resource, server, before]: [&str; 3], expected: &str) {
        let (of_resource, of_server, before) = (list(resource), list(server), list(before));
        let known =
            Known { challenged, of_resource: &of_resource, of_server: &of_server, before: &before };
        assert_eq!(wanted(&known).join(" "), expected, "{known:?}");
    }

    #[test]
    fn the_challenge_counts_then_the_resource_then_nothing() {
        check(Some("a b"), ["c", "", ""], "a b");
        check(Some(""), ["c d", "", ""], "c d");
        check(None, ["c d", "", ""], "c d");
        check(None, ["", "x", ""], "");
    }

    #[test]
    fn a_step_up_keeps_what_was_there() {
        check(Some("b"), ["profile", "", "a"], "a b");
        check(Some("a"), ["", "", "a"], "a");
        check(None, ["profile", "", "a"], "a");
    }

    #[test]
    fn offline_access_is_asked_for_where_it_exists_beside_something_else() {
        check(Some("a"), ["", "a offline_access", ""], "a offline_access");
        check(Some("a"), ["", "a", ""], "a");
        check(None, ["", "offline_access", ""], "");
        check(Some("a"), ["", "offline_access", "offline_access"], "offline_access a");
    }

    #[test]
    fn what_is_no_scope_or_too_much_is_left_out() {
        check(Some("a \"b\" \u{e9} a"), ["", "", ""], "a");
        let many: Vec<String> = (0..10_000).map(|n| format!("scope-{n}")).collect();
        let wanted = wanted(&Known { of_resource: &many, ..Known::default() });
        assert!(wanted.len() <= SCOPES_MAX && wanted.join(" ").len() <= SCOPES_BYTES_MAX);
        assert!(!wanted.is_empty());
    }

    #[test]
    fn what_was_asked_for_already_is_known() {
        assert!(covers(&list("a b"), "b"));
        assert!(covers(&list("a"), ""));
        assert!(!covers(&list("a"), "a b"));
    }
}
