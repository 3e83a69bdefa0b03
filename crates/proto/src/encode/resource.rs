//! Resources, resource templates, and what reading one answers.

use super::content::{annotations, meta_of, resource_contents};
use super::fields::{Caching, cache_fields, icons};
use super::object::{Object, array};
use crate::spec::resource::{ReadResult, Resource, ResourceTemplate};
use crate::version::Revision;

/// Appends a resource as a list has it.
pub fn resource(out: &mut Vec<u8>, revision: Revision, resource: &Resource) {
    let mut object = Object::open(out);
    resource_members(&mut object, revision, resource);
    object.close();
}

pub(super) fn resource_members(object: &mut Object<'_>, revision: Revision, resource: &Resource) {
    object.text("uri", &resource.uri);
    object.text("name", &resource.name);
    if revision.has_structured_output() {
        object.some_text("title", resource.title.as_ref());
    }
    object.some_text("description", resource.description.as_ref());
    object.some_text("mimeType", resource.mime_type.as_ref());
    if let Some(size) = resource.size.filter(|_| revision.has_annotations()) {
        object.integer("size", size);
    }
    annotations(object, revision, &resource.annotations);
    icons(object, revision, &resource.icons);
    meta_of(object, revision, resource.meta.as_ref());
}

/// Appends a resource template as a list has it.
pub fn resource_template(out: &mut Vec<u8>, revision: Revision, template: &ResourceTemplate) {
    let mut object = Object::open(out);
    object.text("uriTemplate", &template.uri_template);
    object.text("name", &template.name);
    if revision.has_structured_output() {
        object.some_text("title", template.title.as_ref());
    }
    object.some_text("description", template.description.as_ref());
    object.some_text("mimeType", template.mime_type.as_ref());
    annotations(&mut object, revision, &template.annotations);
    icons(&mut object, revision, &template.icons);
    meta_of(&mut object, revision, template.meta.as_ref());
    object.close();
}

/// Appends the answer of `resources/read`. `fields` is what
/// [`result_fields`](super::fields::result_fields) wrote for this revision.
pub fn read_result(
    out: &mut Vec<u8>,
    revision: Revision,
    fields: &[u8],
    caching: Caching,
    result: &ReadResult,
) {
    out.extend_from_slice(br#"{"contents":"#);
    array(out, &result.contents, |out, contents| resource_contents(out, revision, contents));
    cache_fields(out, revision, caching);
    out.extend_from_slice(fields);
    out.push(b'}');
}
