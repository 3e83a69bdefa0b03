//! `#[haft::json]`: a type that JSON becomes and that becomes JSON, without a dependency on the
//! crates that do it.

use crate::expand::failed;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Item};

/// Writes what stands instead of the type.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let checked = match syn::parse2(item.clone()) {
        Ok(Item::Struct(_) | Item::Enum(_)) if options.is_empty() => Ok(()),
        Ok(Item::Struct(_) | Item::Enum(_)) => {
            Err(Error::new_spanned(options, "`#[haft::json]` has no options"))
        }
        _ => {
            let first = item.clone().into_iter().next();
            Err(Error::new_spanned(first.to_token_stream(), "JSON becomes a struct or an enum"))
        }
    };
    match checked {
        Ok(()) => quote! {
            #[derive(
                ::haft::serde::Deserialize, ::haft::serde::Serialize, ::haft::schemars::JsonSchema,
            )]
            #[serde(crate = "::haft::serde")]
            #[schemars(crate = "::haft::schemars")]
            #item
        },
        Err(error) => failed(Some(&item), &error),
    }
}
