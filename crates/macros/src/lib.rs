//! The attributes of the library `haft`. Each keeps its function as it is and adds a type of the
//! same name, which makes the tool, resource or prompt. Nothing here runs in a server: it is loaded
//! by the compiler, and what it writes calls `haft::__private` alone.

mod comment;
mod expand;
mod function;
mod json;
mod kind;
mod mistakes;
mod options;
mod parameter;
mod prompt;
mod resource;
mod texts;
mod tool;
mod uri;

use proc_macro::TokenStream;

/// Makes a tool of a function.
///
/// The function stays callable. Beside it there is `NAME::tool()`, with the function's own
/// visibility, which makes the tool that a server takes.
///
/// - The doc comment, up to its first heading, is the description that models read.
/// - Parameters are the arguments. Their doc comments are the arguments' descriptions, `Option` may
///   be left out, and a type of one's own derives `Deserialize` and `JsonSchema`. A parameter of
///   the type `Context`, `State<T>`, `Principal` or `Headers`, or a reference to one, is no
///   argument: the server gives it.
/// - The result is text, a number, nothing, `Json<T>`, which has an output schema, or a `Result` of
///   those; an error becomes a failure that the model reads, or, if it is a `haft::Refusal`, an
///   error of the protocol. What may be nothing is `Json<Option<T>>`.
/// - An `async fn` may wait. Any other answers at once, on the thread that reads requests, unless
///   it is `#[tool(blocking)]`, which gives it a thread of its own.
///
/// | option | means |
/// | --- | --- |
/// | `name = "word_count"` | another name than the function's |
/// | `title = "Count words"` | the name that people read |
/// | `blocking` | runs on a thread of its own |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | hints; each may be `= false` |
/// | `timeout = "5s"` | how long a call may take: `500ms`, `5s`, `2m` or `1h` |
/// | `task`, `task = on_demand`, `task = required` | calls become tasks; see `TaskUse` |
/// | `task_ttl = "1h"` | how long a task may run and is kept |
///
/// | of an argument | means |
/// | --- | --- |
/// | `#[haft(rename = "type")]` | another name than the parameter's |
/// | `#[haft(default = 10)]`, `#[haft(default)]` | what it is when it is left out |
/// | `#[haft(range(1..=100))]`, `#[haft(length(1..=64))]` | bounds of a number; of a text or list |
/// | `#[haft(header = "Region")]` | clients repeat it in the HTTP header `Mcp-Param-Region` |
/// | `#[haft(flatten)]` | its fields are arguments; so are those of `Args<T>` |
/// | `#[schemars(..)]`, `#[serde(..)]` | as on a field of a struct |
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(options.into(), item.into()).into()
}

/// Derives `Deserialize`, `Serialize` and `JsonSchema` for a type that tools take or give, from the
/// crates that `haft` has: a program needs neither `serde` nor `schemars` of its own. Attributes of
/// both may stand on the type and its fields, below this one.
#[proc_macro_attribute]
pub fn json(options: TokenStream, item: TokenStream) -> TokenStream {
    json::expand(options.into(), item.into()).into()
}

/// Makes a resource of a function, or a family of resources if its URI has variables.
///
/// Beside the function there is `NAME::resource()`, as for [`tool`](macro@tool). The doc comment is
/// the description, the variables of a URI template (RFC 6570: `{id}`, or `{+path}` with slashes)
/// are the parameters of the same names, of any type that implements `FromStr`, and a parameter of
/// the type `Context`, `State<T>` or `Principal` is given by the server. What is no such type is
/// not found.
///
/// The function returns text, bytes, `Json<T>`, `ResourceContents` or `ReadResult`, an `Option`,
/// where nothing means "not found", or a `Result`.
///
/// | option | means |
/// | --- | --- |
/// | `"notes://{id}"`, first | the URI, or the template |
/// | `mime = "text/markdown"` | what kind of data |
/// | `name = "notes"`, `title = "Notes"` | names for programs, and for people |
/// | `blocking` | runs on a thread of its own |
///
/// | of a parameter | means |
/// | --- | --- |
/// | `#[haft(rename = "type")]` | the variable's name, if it is another |
/// | `#[haft(complete = function)]` | an async function that takes a `Completing` suggests values |
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    resource::expand(options.into(), item.into()).into()
}

/// Makes a prompt of a function.
///
/// Beside the function there is `NAME::prompt()`, as for [`tool`](macro@tool). The doc comment is
/// the description, and the parameters are the arguments: texts, read into any type that implements
/// `FromStr`. `Option` may be left out. A parameter of the type `Context`, `State<T>` or
/// `Principal` is given by the server.
///
/// The function returns text, which the person says, a `Vec<Message>`, a `PromptResult`, or a
/// `Result` of those.
///
/// | option | means |
/// | --- | --- |
/// | `name = "review"`, `title = "Review"` | names for programs, and for people |
/// | `blocking` | runs on a thread of its own |
///
/// | of an argument | means |
/// | --- | --- |
/// | `#[haft(rename = "type")]` | another name than the parameter's |
/// | `#[haft(default = "en")]`, `#[haft(default)]` | what it is when it is left out |
/// | `#[haft(complete = function)]` | an async function that takes a `Completing` suggests values |
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    prompt::expand(options.into(), item.into()).into()
}
