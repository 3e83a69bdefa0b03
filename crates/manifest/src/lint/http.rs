//! Warnings about tools that ask servers.

use super::Notes;
use crate::http::Http;
use crate::http::address::Base;
use crate::http::auth::Who;
use crate::input::Argument;
use haft_fetch::Reach;
use haft_proto::spec::tool::Annotations;
use http::Method;

/// An argument that nobody reads misleads whoever sends it.
pub(super) fn judge_use(known: &[Argument], http: &Http, notes: &mut Notes) {
    for argument in known.iter().filter(|argument| !http.reads(&argument.name)) {
        notes.add(argument.place, format!("nothing reads the argument `{}`", argument.name));
    }
}

/// What is odd about a request.
pub(super) fn judge(annotations: Annotations, http: &Http, notes: &mut Notes) {
    match &http.address.base {
        Base::Dynamic { .. } if http.reach == Reach::Anywhere => notes.add(
            http.place,
            "a caller may name any host, of private networks too; list those that are meant in \
             `allow_private`",
        ),
        Base::Fixed(url) if !url.is_secure() && !matches!(http.auth, Who::Nobody) => {
            let is_near = url.host() == "localhost"
                || url.host().parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
            if !is_near {
                notes.add(http.place, "`auth` travels in the clear; use https");
            }
        }
        _ => {}
    }
    let changes = ![Method::GET, Method::HEAD, Method::OPTIONS].contains(&http.method);
    if changes && annotations.read_only == Some(true) && http.method != Method::POST {
        let message = format!("a tool that is `readOnly` does not {}", http.method);
        notes.add(http.place, message);
    }
}
