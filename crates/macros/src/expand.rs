//! What all attributes here write beside their function: the type that is named like it, and the
//! struct that its arguments are decoded into. Which kind of thing is made, the caller knows.

use crate::function::Function;
use crate::kind::Kind;
use crate::mistakes::Mistakes;
use crate::parameter::{Argument, Default, Parameter, hidden};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Type};

/// The type that has the function's name, with one function of its own, which is named like the
/// kind and returns a `made` by `body`.
pub(crate) fn companion(
    function: &Function,
    kind: Kind,
    made: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let item = &function.item;
    let (name, visibility, conditions) = (&item.sig.ident, &item.vis, function.conditions());
    let maker = kind.name();
    let maker_name = Ident::new(maker, Span::call_site());
    let about = format!("Beside the function: makes the {maker} of it, by [`{name}::{maker}`].");
    let makes = format!("The {maker} that calls the function, to be given to a server.");
    quote! {
        #item

        #(#conditions)*
        #[doc = #about]
        #[allow(non_camel_case_types, reason = "it is named like its function")]
        #visibility enum #name {}

        #(#conditions)*
        #[automatically_derived]
        #[allow(clippy::all, clippy::pedantic, reason = "nobody wrote it")]
        impl #name {
            #[doc = #makes]
            #[must_use]
            #visibility fn #maker_name() -> #made {
                #body
            }
        }
    }
}

/// What stands instead of the function: what is made of it, or the function and its mistakes, so
/// that those are the only thing that is told.
pub(crate) fn finished(
    function: Option<&Function>,
    mistakes: Mistakes,
    made: impl FnOnce(&Function) -> TokenStream,
) -> TokenStream {
    match (function, mistakes.finish()) {
        (Some(function), Ok(())) => made(function),
        (function, Err(error)) => failed(function.map(|function| &function.item), &error),
        (None, Ok(())) => TokenStream::new(),
    }
}

/// The item as it was, and its mistakes.
pub(crate) fn failed(item: Option<&impl ToTokens>, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    quote!(#item #error)
}

/// How the arguments of a message become those of the function.
pub(crate) struct Decoding {
    /// Must stand before the others.
    pub(crate) items: TokenStream,
    /// What a message is decoded into.
    pub(crate) kind: TokenStream,
    /// What the function is called with, given `arguments()` and the source's variable; without
    /// the `&` of what it borrows.
    pub(crate) passed: Vec<TokenStream>,
}

/// The variable that holds what was decoded.
pub(crate) fn arguments() -> Ident {
    hidden("arguments")
}

/// Where a function finds what the server gives.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// In the call, which is answered at once.
    Call,
    /// In the context of a call that is answered later.
    Context,
}

impl Source {
    /// The variable that holds it, and the variable's type.
    pub(crate) fn variable(self) -> (Ident, TokenStream) {
        match self {
            Self::Call => (hidden("call"), quote!(&::haft::__private::Call<'_>)),
            Self::Context => (hidden("context"), quote!(::haft::Context)),
        }
    }

    fn given(self, kind: &Type) -> TokenStream {
        let (variable, _) = self.variable();
        match self {
            Self::Call => quote!(<#kind as ::haft::__private::Given>::of_call(#variable)),
            Self::Context => quote!(<#kind as ::haft::__private::Given>::of_context(&#variable)),
        }
    }
}

impl Decoding {
    pub(crate) fn of(function: &Function, source: Source) -> Self {
        let parameters = &function.parameters;
        let arguments = arguments();
        let is_argument = |parameter: &&Parameter| !matches!(parameter, Parameter::Given(_));
        let own: Vec<&Parameter> = parameters.iter().filter(is_argument).collect();
        let mut passed = Vec::new();
        for (index, parameter) in parameters.iter().enumerate() {
            passed.push(match parameter {
                Parameter::Argument(argument) => {
                    let name = &argument.ident;
                    quote!(#arguments.#name)
                }
                Parameter::Given(given) => {
                    let kind = &given.kind;
                    source.given(kind)
                }
                Parameter::Whole(whole) => {
                    let field = format_ident!("whole_{index}");
                    let value =
                        if own.len() == 1 { quote!(#arguments) } else { quote!(#arguments.#field) };
                    if whole.is_wrapped { quote!(::haft::Args(#value)) } else { value }
                }
            });
        }
        let (items, kind) = match &*own {
            [] => (TokenStream::new(), quote!(::haft::__private::NoArguments)),
            [Parameter::Whole(whole)] => {
                let kind = &whole.kind;
                (TokenStream::new(), quote!(#kind))
            }
            _ => (fields(parameters), quote!(__HaftArguments)),
        };
        Self { items, kind, passed }
    }
}

/// The struct of all arguments, and the functions that its defaults come from.
fn fields(parameters: &[Parameter]) -> TokenStream {
    let mut functions = TokenStream::new();
    let mut fields = TokenStream::new();
    for (index, parameter) in parameters.iter().enumerate() {
        match parameter {
            Parameter::Argument(argument) => {
                fields.extend(field(argument, index));
                functions.extend(default(argument, index));
            }
            Parameter::Whole(whole) => {
                let (name, kind) = (format_ident!("whole_{index}"), &whole.kind);
                fields.extend(quote!(#[serde(flatten)] #name: #kind,));
            }
            Parameter::Given(_) => {}
        }
    }
    quote! {
        #functions
        #[derive(::haft::serde::Deserialize, ::haft::schemars::JsonSchema)]
        #[serde(crate = "::haft::serde")]
        #[schemars(crate = "::haft::schemars")]
        #[allow(non_snake_case, reason = "its fields are named like parameters")]
        struct __HaftArguments { #fields }
    }
}

fn field(argument: &Argument, index: usize) -> TokenStream {
    let Argument { ident, name, kind, attributes, constraints, .. } = argument;
    let default = argument.default.as_ref().map(|default| match default {
        Default::OfType => quote!(#[serde(default)]),
        Default::Value(_) => {
            let function = default_name(index).to_string();
            quote!(#[serde(default = #function)])
        }
    });
    let header =
        argument.header.as_ref().map(|name| quote!(#[schemars(extend("x-mcp-header" = #name))]));
    // The field's own attributes may rename it, and may do so once.
    let rename = (ident.unraw() != name).then(|| {
        let name = LitStr::new(name, ident.span());
        quote!(#[serde(rename = #name)])
    });
    quote! {
        #(#attributes)*
        #rename
        #default
        #header
        #(#[schemars(#constraints)])*
        #ident: #kind,
    }
}

fn default(argument: &Argument, index: usize) -> TokenStream {
    let Some(Default::Value(value)) = &argument.default else { return TokenStream::new() };
    let (function, kind) = (default_name(index), &argument.kind);
    let value = owned(value);
    quote!(fn #function() -> #kind { #value })
}

/// A default as it is returned: a literal of text is a `&str` where the argument is a `String`.
pub(crate) fn owned(value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => {
            quote!(::core::convert::Into::into(#value))
        }
        value => quote!(#value),
    }
}

fn default_name(index: usize) -> Ident {
    format_ident!("__haft_default_{index}")
}

/// Says of every argument that it can be one, where its type is written. Attributes of serde's or
/// schemars' may read it by something else than its type.
pub(crate) fn taken(function: &Function) -> TokenStream {
    let kinds = function.parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Argument(argument) if argument.attributes.iter().all(is_doc) => {
            Some(&argument.kind)
        }
        Parameter::Whole(whole) => Some(&whole.kind),
        Parameter::Argument(_) | Parameter::Given(_) => None,
    });
    let calls =
        kinds.map(|kind| quote_spanned!(kind.span()=> ::haft::__private::taken::<#kind>();));
    quote!(#(#calls)*)
}

fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

/// Says of what is `made` what the server must give it.
pub(crate) fn wanted(function: &Function) -> TokenStream {
    let given = function.given();
    quote!(#(let made = <#given as ::haft::__private::Given>::wanted_by(made);)*)
}

/// The name that clients use.
pub(crate) fn name(function: &Function, option: Option<&LitStr>) -> String {
    option.map_or_else(|| function.item.sig.ident.unraw().to_string(), LitStr::value)
}

/// What waits does not block.
pub(crate) fn check_blocking(
    function: &Function,
    blocking: Option<&Ident>,
    mistakes: &mut Mistakes,
) {
    if let (Some(blocking), Some(_)) = (blocking, &function.item.sig.asyncness) {
        let message = "an async function waits without blocking: leave out one of the two";
        mistakes.say(blocking, message);
    }
}

/// Clients could not tell two arguments of one name apart, nor two headers.
pub(crate) fn check_names(function: &Function, mistakes: &mut Mistakes) {
    let (mut names, mut headers) = (Vec::new(), Vec::new());
    for argument in function.arguments() {
        if names.contains(&&argument.name) {
            mistakes.say(&argument.ident, format!("two arguments are named `{}`", argument.name));
        }
        names.push(&argument.name);
        if let Some(header) = &argument.header {
            let name = header.value().to_ascii_lowercase();
            if headers.contains(&name) {
                mistakes.say(header, format!("two arguments have the header {:?}", header.value()));
            }
            headers.push(name);
        }
    }
}
