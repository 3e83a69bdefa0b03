//! Doc comments as attributes hold them. What of them a model reads is decided when the server
//! runs, as they need not be literals.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, Meta};

/// An expression of the whole comment, a `&'static str`; empty without a comment.
pub(crate) fn text(attributes: &[Attribute]) -> TokenStream {
    let lines = attributes.iter().filter_map(line);
    quote!(::core::concat!(#(#lines, "\n"),*))
}

fn line(attribute: &Attribute) -> Option<&Expr> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(&pair.value),
        _ => None,
    }
}
