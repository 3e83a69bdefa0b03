//! Resources and families of resources that are put together: what clients are told of them, and
//! what reads them.

use crate::completion::{Completer, Completers, Completing};
use crate::context::Context;
use crate::reading::{Answering, Output, Reader};
use crate::relay::{Far, Relayed, Relaying};
use crate::state::Needed;
use crate::uri_template::{Matcher, Variables};
use haft_proto::encode::fields::Caching;
use haft_proto::error::Refusal;
use haft_proto::spec;
use haft_proto::spec::Meta;
use haft_proto::spec::completion::Completion;
use haft_proto::spec::content::Annotations;
use haft_proto::spec::icon::Icon;
use haft_proto::spec::resource::ReadResult;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// One reading of a resource.
#[derive(Clone)]
pub struct Read {
    /// The address that was asked for.
    pub uri: String,
    /// The variables of its template, decoded; none without a template. They are what the client
    /// says: decoding comes after matching, so that even one of `{name}` may be `../../etc/passwd`
    /// (`..%2F..%2Fetc%2Fpasswd` in the address), `..`, or have a NUL. Never join one to a path:
    /// look it up among names that are known, or take it by [`Read::file_name`].
    pub variables: Variables,
    /// The way back to the client.
    pub context: Context,
}

impl Read {
    /// A variable, if it is the plain name of a file: without separators of any system, a colon or
    /// control characters, and not `.` or `..`. Joined to a directory, it is inside; what is there
    /// may still be a link that leads out.
    ///
    /// ```
    /// use haft_server::{ResourceTemplate, Server};
    /// let notes = ResourceTemplate::new("notes://{name}", "notes", |read| async move {
    ///     let path = std::path::Path::new("/srv/notes").join(read.file_name("name")?);
    ///     std::fs::read_to_string(path).ok()
    /// });
    /// let server = Server::builder("notes", "1.0.0").resource_template(notes).build()?;
    /// # Ok::<(), haft_server::BuildError>(())
    /// ```
    #[must_use]
    pub fn file_name(&self, variable: &str) -> Option<&str> {
        let is_bad = |c: char| matches!(c, '/' | '\\' | ':') || c.is_control();
        let name = self.variables.get(variable)?;
        Some(name.as_str())
            .filter(|name| !matches!(*name, "" | "." | "..") && !name.contains(is_bad))
    }
}

/// A resource that is not registered yet.
#[derive(Clone)]
pub struct Resource {
    pub(crate) spec: spec::resource::Resource,
    pub(crate) contents_meta: Option<Meta>,
    pub(crate) caching: Option<Caching>,
    pub(crate) wants_headers: bool,
    pub(crate) needs: Vec<Needed>,
    pub(crate) reader: Arc<dyn Reader>,
    /// Another server has it.
    pub(crate) far: Option<Far>,
}

/// A family of resources that is not registered yet.
#[derive(Clone)]
pub struct ResourceTemplate {
    pub(crate) spec: spec::resource::ResourceTemplate,
    pub(crate) caching: Option<Caching>,
    pub(crate) wants_headers: bool,
    pub(crate) needs: Vec<Needed>,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) completers: Completers,
    /// Another server has it.
    pub(crate) far: Option<Far>,
    /// What addresses are there, where some of them are not in it.
    pub(crate) addresses: Vec<Address>,
}

/// The address that is read in place of another.
type Address = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A family, compiled.
pub(crate) struct RegisteredTemplate {
    pub(crate) template: Matcher,
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
        Self {
            spec,
            contents_meta: None,
            caching: None,
            wants_headers: false,
            needs: Vec::new(),
            reader: Arc::new(reader(read)),
            far: None,
        }
    }

    /// A resource that another server has. Clients are told what that server tells of it,
    /// `definition`, and are answered as it answers.
    pub fn relayed<F>(
        uri: impl Into<String>,
        definition: Box<RawValue>,
        relay: impl Fn(Relaying) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Relayed, Refusal>> + Send + 'static,
    {
        let far = Some(Far::new(definition, relay));
        Self { far, ..Self::new(uri, "", |_| std::future::ready(None::<String>)) }
    }

    /// How long another server may take to answer, where it is one that has this; without it, as
    /// long as any request that is no call.
    #[must_use]
    pub fn relayed_within(mut self, limit: Duration) -> Self {
        self.far = self.far.map(|far| far.within(limit));
        self
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
    /// `{+name}` matches the rest with its slashes. Read as [`Resource::new`] says. What is matched
    /// is decoded, and not safe as part of a path: see [`Read::variables`].
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
        Self {
            spec,
            caching: None,
            wants_headers: false,
            needs: Vec::new(),
            reader: Arc::new(reader(read)),
            completers: Completers::default(),
            far: None,
            addresses: Vec::new(),
        }
    }

    /// A family that another server has, told and read as [`Resource::relayed`] is; suggestions for
    /// its variables are asked of that server too.
    pub fn relayed<F>(
        uri_template: impl Into<String>,
        definition: Box<RawValue>,
        relay: impl Fn(Relaying) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Relayed, Refusal>> + Send + 'static,
    {
        let far = Some(Far::new(definition, relay));
        Self { far, ..Self::new(uri_template, "", |_| std::future::ready(None::<String>)) }
    }

    /// How long another server may take to answer, where it is one that has this; without it, as
    /// long as any request that is no call.
    #[must_use]
    pub fn relayed_within(mut self, limit: Duration) -> Self {
        self.far = self.far.map(|far| far.within(limit));
        self
    }

    /// The URI template.
    #[must_use]
    pub fn uri_template(&self) -> &str {
        &self.spec.uri_template
    }

    /// Reads another address in place of one that is asked for, and no other: the one that
    /// `address` gives, where that fits the template. With nothing, the address is not in the
    /// family. Adds to those before.
    #[must_use]
    pub fn addressed(
        mut self,
        address: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.addresses.push(Arc::new(address));
        self
    }

    /// The address that is read where this one is asked for; nothing, if it is not in the family.
    pub(crate) fn address<'u>(&self, uri: &'u str) -> Option<Cow<'u, str>> {
        let addresses = self.addresses.iter();
        addresses.clone().try_fold(Cow::Borrowed(uri), |uri, address| address(&uri).map(Cow::Owned))
    }

    /// Suggests values for a variable.
    #[must_use]
    pub fn complete<F>(
        self,
        variable: impl Into<String>,
        complete: impl Fn(Completing) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Completion> + Send + 'static,
    {
        self.try_complete(variable, move |typing| {
            let work = complete(typing);
            async move { Ok(work.await) }
        })
    }

    /// The same for what may fail; the client is told why.
    #[must_use]
    pub fn try_complete<F>(
        mut self,
        variable: impl Into<String>,
        complete: impl Fn(Completing) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Completion, Refusal>> + Send + 'static,
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

            /// Its function wants the HTTP headers of its requests; see
            /// [`Context::headers`](crate::Context::headers).
            #[must_use]
            pub fn with_headers(mut self) -> Self {
                self.wants_headers = true;
                self
            }

            /// Its function needs a shared value of that type: without one, the server cannot be
            /// built.
            #[must_use]
            pub fn needs_state<T: Send + Sync + 'static>(mut self) -> Self {
                self.needs.push(Needed::of::<T>());
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
