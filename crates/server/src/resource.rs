//! Resources and families of resources that are put together: what clients are told of them, and
//! what reads them.

use crate::completion::{Completer, Completers, Completing};
use crate::context::Context;
use crate::reading::{Answering, Output, Reader};
use crate::uri_template::{UriTemplate, Variables};
use haft_proto::encode::fields::Caching;
use haft_proto::spec;
use haft_proto::spec::Meta;
use haft_proto::spec::completion::Completion;
use haft_proto::spec::content::Annotations;
use haft_proto::spec::icon::Icon;
use haft_proto::spec::resource::ReadResult;
use std::future::Future;
use std::sync::Arc;

/// One reading of a resource.
#[derive(Clone)]
pub struct Read {
    /// The address that was asked for.
    pub uri: String,
    /// The variables of its template, decoded; none without a template.
    pub variables: Variables,
    /// The way back to the client.
    pub context: Context,
}

/// A resource that is not registered yet.
#[derive(Clone)]
pub struct Resource {
    pub(crate) spec: spec::resource::Resource,
    pub(crate) contents_meta: Option<Meta>,
    pub(crate) caching: Option<Caching>,
    pub(crate) reader: Arc<dyn Reader>,
}

/// A family of resources that is not registered yet.
#[derive(Clone)]
pub struct ResourceTemplate {
    pub(crate) spec: spec::resource::ResourceTemplate,
    pub(crate) caching: Option<Caching>,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) completers: Completers,
}

/// A family, compiled.
pub(crate) struct RegisteredTemplate {
    pub(crate) template: UriTemplate,
    pub(crate) built: ResourceTemplate,
}

impl Resource {
    /// A resource at an address, read by an async function. It may return text, bytes,
    /// [`ResourceContents`](spec::content::ResourceContents), a [`ReadResult`], an `Option` of
    /// these (nothing is "not found") or a `Result`.
    pub fn new<F, R>(
        uri: impl Into<String>,
        name: impl Into<String>,
        read: impl Fn(Read) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: Output<ReadResult> + 'static,
    {
        let spec = spec::resource::Resource {
            uri: uri.into(),
            name: name.into(),
            ..spec::resource::Resource::default()
        };
        Self { spec, contents_meta: None, caching: None, reader: Arc::new(reader(read)) }
    }

    /// A resource whose text never changes.
    pub fn text(uri: impl Into<String>, name: impl Into<String>, text: impl Into<String>) -> Self {
        let text: Arc<str> = text.into().into();
        let size = text.len() as u64;
        let resource = Self::new(uri, name, move |_| std::future::ready(text.to_string()));
        resource.size(size)
    }

    /// A resource whose bytes never change.
    pub fn bytes(
        uri: impl Into<String>,
        name: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        let bytes: Arc<[u8]> = bytes.into().into();
        let size = bytes.len() as u64;
        let resource = Self::new(uri, name, move |_| std::future::ready(bytes.to_vec()));
        resource.size(size)
    }

    /// The address.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.spec.uri
    }

    /// `_meta` of its contents, where they have none of their own.
    #[must_use]
    pub fn contents_meta(mut self, meta: Meta) -> Self {
        self.contents_meta = Some(meta);
        self
    }

    /// How many bytes it has, before any encoding.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.spec.size = Some(bytes);
        self
    }
}

impl ResourceTemplate {
    /// A family of resources with a URI template (RFC 6570): `{name}` matches up to the next `/`,
    /// `{+name}` matches the rest with its slashes. Read as [`Resource::new`] says.
    pub fn new<F, R>(
        uri_template: impl Into<String>,
        name: impl Into<String>,
        read: impl Fn(Read) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: Output<ReadResult> + 'static,
    {
        let spec = spec::resource::ResourceTemplate {
            uri_template: uri_template.into(),
            name: name.into(),
            ..spec::resource::ResourceTemplate::default()
        };
        let completers = Completers::default();
        Self { spec, caching: None, reader: Arc::new(reader(read)), completers }
    }

    /// The URI template.
    #[must_use]
    pub fn uri_template(&self) -> &str {
        &self.spec.uri_template
    }

    /// Suggests values for a variable.
    #[must_use]
    pub fn complete<F>(
        mut self,
        variable: impl Into<String>,
        complete: impl Fn(Completing) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Completion> + Send + 'static,
    {
        self.completers.add(variable.into(), Completer::new(complete));
        self
    }
}

macro_rules! descriptions {
    ($built:ident) => {
        impl $built {
            /// The name that people read.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.spec.title = Some(title.into());
                self
            }

            /// What it is, for the model.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.spec.description = Some(description.into());
                self
            }

            /// What kind of data; also that of contents which do not say.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.spec.mime_type = Some(mime_type.into());
                self
            }

            /// For whom, and how important.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.spec.annotations = annotations;
                self
            }

            /// One more picture.
            #[must_use]
            pub fn icon(mut self, icon: Icon) -> Self {
                self.spec.icons.push(icon);
                self
            }

            /// `_meta` of its definition.
            #[must_use]
            pub fn meta(mut self, meta: Meta) -> Self {
                self.spec.meta = Some(meta);
                self
            }

            /// How long clients of the modern era may keep its content; without it, as long as the
            /// server's lists.
            #[must_use]
            pub fn caching(mut self, caching: Caching) -> Self {
                self.caching = Some(caching);
                self
            }
        }
    };
}

descriptions!(Resource);
descriptions!(ResourceTemplate);

struct ReadFunction<F>(F);

fn reader<F, R>(read: impl Fn(Read) -> F + Send + Sync + 'static) -> impl Reader
where
    F: Future<Output = R> + Send + 'static,
    R: Output<ReadResult> + 'static,
{
    ReadFunction(move |request: Read| -> Answering<ReadResult> {
        let work = read(request);
        Box::pin(async move { work.await.into_answer() })
    })
}

impl<F> Reader for ReadFunction<F>
where
    F: Fn(Read) -> Answering<ReadResult> + Send + Sync + 'static,
{
    fn read(&self, request: Read) -> Answering<ReadResult> {
        (self.0)(request)
    }
}
