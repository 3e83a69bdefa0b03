//! Tools and forms from types, which say what they take and give, so that nobody writes a schema.
//! Used by programs and by what the macros of `haft` make of a function; adds nothing to a call.

use crate::ask::{AskError, Elicited};
use crate::context::Context;
use crate::handler::{self, Handler, Output};
use crate::schema::derived;
use crate::tool::Tool;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::future::Future;

impl Context {
    /// Asks a person to fill in a form whose fields are those of a type: strings, numbers, booleans
    /// and enums without data. `key` names the question among those of this call. See
    /// [`Context::elicit`].
    ///
    /// ```
    /// use haft_server::{AskError, Context, Tool};
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Parcel { street: String, express: bool }
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Nothing {}
    ///
    /// let send = Tool::typed("send", |_: Nothing, context: Context| async move {
    ///     let parcel = context.form::<Parcel>("parcel", "Where to?").await?;
    ///     Ok::<_, AskError>(match parcel.accepted() {
    ///         Some(parcel) => format!("On its way to {}.", parcel.street),
    ///         None => "Kept.".to_owned(),
    ///     })
    /// });
    /// # let _ = send;
    /// ```
    ///
    /// # Errors
    /// An [`AskError`].
    pub async fn form<T: DeserializeOwned + JsonSchema>(
        &self,
        key: &str,
        message: &str,
    ) -> Result<Elicited<T>, AskError> {
        self.elicit(key, message, &derived::of_form::<T>()).await
    }
}

impl Tool {
    /// A tool from an async function. Both schemas come from its types: that of the arguments from
    /// `A`, that of the result from `R`, if it is [`Json`](handler::Json).
    ///
    /// ```
    /// use haft_server::{Server, Tool, handler::Json};
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Add { a: i64, b: i64 }
    /// let add = Tool::typed("add", |add: Add, _| async move { Json(add.a + add.b) })
    ///     .description("Add two integers.");
    /// let server = Server::builder("calculator", "1.0.0").tool(add).build()?;
    /// # assert_eq!(server.tool_names(), ["add"]);
    /// # Ok::<(), haft_server::BuildError>(())
    /// ```
    pub fn typed<A, R, F>(
        name: impl Into<String>,
        function: impl Fn(A, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Output + 'static,
        F: Future<Output = R> + Send + 'static,
    {
        Self::of_types::<A, R>(name, handler::future(function))
    }

    /// A tool from a function that answers at once: no waiting, no heavy work; see
    /// [`handler::function`].
    pub fn typed_function<A, R>(
        name: impl Into<String>,
        function: impl Fn(A) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: Output + 'static,
    {
        Self::of_types::<A, R>(name, handler::function(function))
    }

    /// A tool from a function that computes or blocks for long; see [`handler::blocking`].
    pub fn typed_blocking<A, R>(
        name: impl Into<String>,
        function: impl Fn(A) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: Output + 'static,
    {
        Self::of_types::<A, R>(name, handler::blocking(function))
    }

    /// A tool whose handler takes an `A` and answers with an `R`.
    pub fn of_types<A: JsonSchema + 'static, R: Output>(
        name: impl Into<String>,
        handler: impl Handler,
    ) -> Self {
        let tool = Self::new(name, handler).derived_input(derived::known::<A>());
        match R::output_schema() {
            Some(schema) => tool.output_schema(schema),
            None => tool,
        }
    }
}
