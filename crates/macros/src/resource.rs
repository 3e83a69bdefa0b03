//! `#[haft::resource("…")]`: its address and options, and the resource, or family of resources,
//! made of its function.

use crate::comment;
use crate::expand;
use crate::function::Function;
use crate::kind::Kind;
use crate::mistakes::{Mistakes, suggestion};
use crate::options::{self, Entry};
use crate::texts;
use crate::uri;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{LitStr, Result};

/// What the attribute may say after the address.
const OPTIONS: [&str; 4] = ["blocking", "mime", "name", "title"];

/// What the attribute said.
#[derive(Default)]
struct Options {
    uri: Option<LitStr>,
    blocking: Option<Ident>,
    mime: Option<LitStr>,
    name: Option<LitStr>,
    title: Option<LitStr>,
}

/// Writes what stands instead of the function.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let options = Options::read(options, &mut mistakes);
    let function = Function::read(item, Kind::Resource, &mut mistakes);
    let mut is_family = false;
    if let Some(function) = &function {
        expand::check_names(function, &mut mistakes);
        expand::check_blocking(function, options.blocking.as_ref(), &mut mistakes);
        if let Some(uri) = &options.uri
            && let Some(variables) = mistakes.take(uri::variables(uri))
        {
            is_family = !variables.is_empty();
            check_variables(function, uri, &variables, &mut mistakes);
        }
    }
    expand::finished(function.as_ref(), mistakes, |function| made(function, &options, is_family))
}

impl Options {
    fn read(tokens: TokenStream, mistakes: &mut Mistakes) -> Self {
        let missing = "a resource has a URI: `#[haft::resource(\"config://app\")]`";
        let (uri, entries) = options::read_after_text(tokens, mistakes, missing);
        let mut options = Self { uri, ..Self::default() };
        for entry in entries {
            mistakes.take(options.set(&entry));
        }
        options
    }

    fn set(&mut self, entry: &Entry) -> Result<()> {
        match entry.name.to_string().as_str() {
            "blocking" => {
                entry.word()?;
                self.blocking = Some(entry.name.clone());
            }
            "mime" => self.mime = Some(entry.text("mime = \"text/plain\"")?),
            "name" => self.name = Some(entry.text("name = \"other_name\"")?),
            "title" => self.title = Some(entry.text("title = \"What people read\"")?),
            _ => return Err(entry.unknown("a resource", &OPTIONS)),
        }
        Ok(())
    }
}

/// Every variable is a parameter, and every parameter a variable.
fn check_variables(
    function: &Function,
    uri: &LitStr,
    variables: &[String],
    mistakes: &mut Mistakes,
) {
    let parameters: Vec<_> = function.arguments().collect();
    for variable in variables {
        if !parameters.iter().any(|parameter| parameter.name == *variable) {
            let message = format!("no parameter is named like the variable `{variable}`");
            mistakes.say(uri, message);
        }
    }
    let known: Vec<&str> = variables.iter().map(String::as_str).collect();
    for parameter in parameters {
        let name = &parameter.name;
        if !variables.contains(name) {
            let hint = match &*known {
                [] => format!("write it where it stands: `{{{name}}}`"),
                known => suggestion(name, known),
            };
            mistakes.say(&parameter.ident, format!("the URI has no variable `{name}`; {hint}"));
        } else if parameter.optional().is_some() {
            let message = "a variable of a URI is always there: write the type without `Option`";
            mistakes.say(&parameter.kind, message);
        }
    }
}

fn made(function: &Function, options: &Options, is_family: bool) -> TokenStream {
    let (made, maker) = if is_family {
        (quote!(::haft::ResourceTemplate), "family")
    } else {
        (quote!(::haft::Resource), "resource")
    };
    let maker = Ident::new(maker, Span::call_site());
    let (uri, name) = (&options.uri, expand::name(function, options.name.as_ref()));
    let result = function.result();
    let read = quote!(::haft::Read);
    let read = texts::closure(function, &read, "variable", options.blocking.is_some());
    let title = options.title.iter().map(|title| quote!(.title(#title)));
    let mime = options.mime.iter().map(|mime| quote!(.mime_type(#mime)));
    let comment = comment::text(&function.item.attrs);
    let wanted = expand::wanted(function);
    let completions = texts::completions(function);
    let body = quote! {
        let read = #read;
        let made = ::haft::__private::#maker::<#result, _>(#uri, #name, read);
        #wanted
        ::haft::__private::described(made, #comment) #(#title)* #(#mime)* #completions
    };
    expand::companion(function, Kind::Resource, &made, &body)
}
