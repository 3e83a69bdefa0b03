//! `#[haft::prompt]`: its options, and the prompt made of its function.

use crate::comment;
use crate::expand;
use crate::function::Function;
use crate::kind::Kind;
use crate::mistakes::Mistakes;
use crate::options::{self, Entry};
use crate::texts;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{LitStr, Result};

/// What the attribute may say.
const OPTIONS: [&str; 3] = ["blocking", "name", "title"];

/// What the attribute said.
#[derive(Default)]
struct Options {
    blocking: Option<Ident>,
    name: Option<LitStr>,
    title: Option<LitStr>,
}

/// Writes what stands instead of the function.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let options = Options::read(options, &mut mistakes);
    let function = Function::read(item, Kind::Prompt, &mut mistakes);
    if let Some(function) = &function {
        expand::check_names(function, &mut mistakes);
        expand::check_blocking(function, options.blocking.as_ref(), &mut mistakes);
    }
    expand::finished(function.as_ref(), mistakes, |function| made(function, &options))
}

impl Options {
    fn read(tokens: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut options = Self::default();
        for entry in options::read(tokens, mistakes) {
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
            "name" => self.name = Some(entry.text("name = \"other_name\"")?),
            "title" => self.title = Some(entry.text("title = \"What people read\"")?),
            _ => return Err(entry.unknown("a prompt", &OPTIONS)),
        }
        Ok(())
    }
}

fn made(function: &Function, options: &Options) -> TokenStream {
    let name = expand::name(function, options.name.as_ref());
    let result = function.result();
    let get =
        texts::closure(function, &quote!(::haft::Get), "argument", options.blocking.is_some());
    let title = options.title.iter().map(|title| quote!(.title(#title)));
    let comment = comment::text(&function.item.attrs);
    let arguments = function.arguments().map(|argument| {
        let (name, comment) = (&argument.name, comment::text(&argument.attributes));
        let required = argument.optional().is_none() && argument.default.is_none();
        quote!(.argument(::haft::__private::told_argument(#name, #comment, #required)))
    });
    let wanted = expand::wanted(function);
    let completions = texts::completions(function);
    let body = quote! {
        let get = #get;
        let made = ::haft::__private::prompt::<#result, _>(#name, get);
        #wanted
        ::haft::__private::described(made, #comment) #(#title)* #(#arguments)* #completions
    };
    expand::companion(function, Kind::Prompt, &quote!(::haft::Prompt), &body)
}
