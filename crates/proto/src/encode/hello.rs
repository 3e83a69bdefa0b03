//! Who a server is, what it offers, which versions it serves.

use super::fields::{Caching, cache_fields, implementation, result_fields};
use super::object::{Object, array};
use super::string;
use crate::spec::client::{TASKS, UI};
use crate::spec::implementation::{Capabilities, Implementation};
use crate::version::Revision;

/// Appends the result of `initialize`.
pub fn initialize(
    out: &mut Vec<u8>,
    revision: Revision,
    server: &Implementation,
    offers: &Capabilities,
    instructions: Option<&str>,
) {
    let mut object = Object::open(out);
    object.text("protocolVersion", revision.as_str());
    capabilities(object.key("capabilities"), revision, offers);
    implementation(object.key("serverInfo"), revision, server);
    if let Some(instructions) = instructions {
        object.text("instructions", instructions);
    }
    object.close();
}

/// Appends the result of `server/discover`.
pub fn discover(
    out: &mut Vec<u8>,
    revision: Revision,
    server: &Implementation,
    offers: &Capabilities,
    instructions: Option<&str>,
    caching: Caching,
) {
    out.extend_from_slice(br#"{"supportedVersions":"#);
    modern_versions(out);
    out.extend_from_slice(br#","capabilities":"#);
    capabilities(out, revision, offers);
    if let Some(instructions) = instructions {
        out.extend_from_slice(br#","instructions":"#);
        string(out, instructions);
    }
    cache_fields(out, revision, caching);
    result_fields(out, revision, server);
    out.push(b'}');
}

/// `["2026-07-28"]`: what `server/discover` and the refusal of another version name.
pub fn modern_versions(out: &mut Vec<u8>) {
    array(out, Revision::MODERN, |out, revision| string(out, revision.as_str()));
}

fn capabilities(out: &mut Vec<u8>, revision: Revision, offers: &Capabilities) {
    let mut object = Object::open(out);
    if offers.completions && revision.has_completions_capability() {
        object.raw("completions", "{}");
    }
    if offers.logging {
        object.raw("logging", "{}");
    }
    let parts = [
        ("prompts", offers.prompts, offers.list_changed.prompts),
        ("resources", offers.resources, offers.list_changed.resources),
        ("tools", offers.tools, offers.list_changed.tools),
    ];
    for (part, _, may_change) in parts.into_iter().filter(|(_, is_offered, _)| *is_offered) {
        let mut inner = Object::open(object.key(part));
        if may_change {
            inner.flag("listChanged", true);
        }
        if part == "resources" && offers.subscribe {
            inner.flag("subscribe", true);
        }
        inner.close();
    }
    if revision.has_extensions() && (offers.tasks || offers.ui) {
        let mut inner = Object::open(object.key("extensions"));
        for (extension, is_offered) in [(TASKS, offers.tasks), (UI, offers.ui)] {
            if is_offered {
                inner.raw(extension, "{}");
            }
        }
        inner.close();
    }
    object.close();
}
