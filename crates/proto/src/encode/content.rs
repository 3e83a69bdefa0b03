//! Content of results and messages, and what an older client gets instead of a kind that its
//! revision does not have.

use super::object::{Object, array};
use super::resource::resource_members;
use super::{raw, string};
use crate::spec::Meta;
use crate::spec::content::{Annotated, Annotations, Body, Content, Media, ResourceContents};
use crate::version::Revision;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Appends an array of content.
pub fn contents(out: &mut Vec<u8>, revision: Revision, contents: &[Content]) {
    array(out, contents, |out, one| content(out, revision, one));
}

/// Appends one piece of content.
pub fn content(out: &mut Vec<u8>, revision: Revision, one: &Content) {
    match one {
        Content::Annotated(inner) => {
            let Annotated { content, annotations, meta } = &**inner;
            block(out, revision, content, Some((annotations, meta.as_ref())));
        }
        Content::Raw(written) => raw(out, written.get()),
        plain => block(out, revision, plain, None),
    }
}

/// Hints that stand beside content.
type Hints<'a> = Option<(&'a Annotations, Option<&'a Meta>)>;

fn block(out: &mut Vec<u8>, revision: Revision, one: &Content, hints: Hints<'_>) {
    let mut object = Object::open(out);
    match one {
        Content::Text(text) => {
            object.text("type", "text");
            object.text("text", text);
        }
        Content::Image(image) => media(&mut object, "image", image),
        Content::Audio(audio) if revision.has_audio() => media(&mut object, "audio", audio),
        Content::Audio(audio) => {
            let Media { data, mime_type } = audio;
            object.text("type", "text");
            object.text("text", &format!("[audio, {mime_type}, {} bytes]", data.len()));
        }
        Content::Link(resource) if revision.has_resource_links() => {
            object.text("type", "resource_link");
            resource_members(&mut object, revision, resource);
        }
        Content::Link(resource) => {
            object.text("type", "text");
            object.text("text", &resource.uri);
        }
        Content::Embedded(contents) => {
            object.text("type", "resource");
            resource_contents(object.key("resource"), revision, contents);
        }
        Content::Raw(written) => {
            if let Some(members) =
                written.get().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
            {
                object.members(members);
            }
        }
        // Hints about hints: the outer ones count.
        Content::Annotated(inner) => {
            object.text("type", "text");
            object.text("text", &describe(&inner.content));
        }
    }
    if let Some((hints, meta)) = hints {
        annotations(&mut object, revision, hints);
        meta_of(&mut object, revision, meta);
    }
    object.close();
}

fn describe(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Link(resource) => resource.uri.clone(),
        Content::Embedded(contents) => contents.uri.clone(),
        Content::Image(media) | Content::Audio(media) => media.mime_type.clone(),
        Content::Annotated(inner) => describe(&inner.content),
        Content::Raw(written) => written.get().to_owned(),
    }
}

fn media(object: &mut Object<'_>, kind: &str, media: &Media) {
    object.text("type", kind);
    base64(object.key("data"), &media.data);
    object.text("mimeType", &media.mime_type);
}

/// Appends what is in a resource.
pub fn resource_contents(out: &mut Vec<u8>, revision: Revision, contents: &ResourceContents) {
    let mut object = Object::open(out);
    object.text("uri", &contents.uri);
    object.some_text("mimeType", contents.mime_type.as_ref());
    match &contents.body {
        Body::Text(text) => object.text("text", text),
        Body::Blob(data) => base64(object.key("blob"), data),
    }
    meta_of(&mut object, revision, contents.meta.as_ref());
    object.close();
}

pub(super) fn annotations(object: &mut Object<'_>, revision: Revision, hints: &Annotations) {
    if hints.is_empty() {
        return;
    }
    let mut inner = Object::open(object.key("annotations"));
    if !hints.audience.is_empty() {
        inner.array("audience", &hints.audience, |out, role| string(out, role.as_str()));
    }
    inner.some_number("priority", hints.priority);
    if revision.has_structured_output() {
        inner.some_text("lastModified", hints.last_modified.as_ref());
    }
    inner.close();
}

/// `_meta`, where the revision has it on this type.
pub(super) fn meta_of(object: &mut Object<'_>, revision: Revision, meta: Option<&Meta>) {
    if let Some(meta) = meta.filter(|_| revision.has_structured_output()) {
        object.raw("_meta", meta.get());
    }
}

/// Base64 straight into the buffer. Its alphabet needs no escape.
fn base64(out: &mut Vec<u8>, data: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + data.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(data, &mut out[start..]);
    out.truncate(start + written.expect("the room for it was just made"));
    out.push(b'"');
}
