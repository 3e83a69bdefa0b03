//! The attributes of the library `haft`. Each keeps its function as it is and adds a type of the
//! same name, which makes the tool, resource or prompt. Nothing here runs in a server: it is loaded
//! by the compiler, and what it writes calls `haft::__private` alone.

mod comment;
mod expand;
mod function;
mod mistakes;
mod options;
mod parameter;
mod tool;

use proc_macro::TokenStream;

/// Makes a tool of a function.
///
/// The function stays callable. Beside it there is `NAME::tool()`, with the function's own
/// visibility, which makes the tool that a server takes.
///
/// - The doc comment, up to its first heading, is the description that models read.
/// - Parameters are the arguments. Their doc comments are the arguments' descriptions, `Option` may
///   be left out, and a type of one's own derives `Deserialize` and `JsonSchema`. A parameter of
///   the type `Context` or `&Context` is no argument: the server gives it.
/// - The result is text, a number, nothing, `Json<T>`, which has an output schema, or a `Result` of
///   those; an error becomes a failure that the model reads.
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
