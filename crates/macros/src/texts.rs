//! What prompts and resources have in common: clients send them texts by name, and all of them may
//! wait. Decodes the texts and calls the function; what the answer becomes is not known here.

use crate::expand;
use crate::function::Function;
use crate::parameter::{Argument, Default, Parameter};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

/// The closure that calls the function with a request of that type: `decode` is the function of
/// `__private` that reads a text.
pub(crate) fn closure(
    function: &Function,
    request: &TokenStream,
    decode: &str,
    is_blocking: bool,
) -> TokenStream {
    let (name, room) = (expand::arguments(), format_ident!("__haft_room"));
    let decode = Ident::new(decode, Span::call_site());
    let call = call(function, &decode, is_blocking.then_some(&room));
    if is_blocking {
        // One room for all its calls.
        quote!({
            let #room = ::haft::__private::Room::default();
            move |#name: #request| {
                let #room = #room.clone();
                async move { #call }
            }
        })
    } else {
        quote!(move |#name: #request| async move { #call })
    }
}

/// What the closure does; `room` has the threads of a function that blocks.
fn call(function: &Function, decode: &Ident, room: Option<&Ident>) -> TokenStream {
    let request = expand::arguments();
    let mut read = TokenStream::new();
    let mut passed = Vec::new();
    for (index, parameter) in function.parameters.iter().enumerate() {
        let name = format_ident!("__haft_{index}");
        let (value, borrow) = match parameter {
            Parameter::Argument(argument) => (text(argument, decode, &request), None),
            Parameter::Given(given) => {
                let kind = &given.kind;
                let from = quote!(<#kind as ::haft::__private::Given>::of_context);
                (quote!(#from(&#request.context)), parameter.borrow())
            }
            // Only tools have them.
            Parameter::Whole(_) => continue,
        };
        read.extend(quote!(let #name = #value;));
        passed.push(quote!(#borrow #name));
    }
    let callee = &function.item.sig.ident;
    let call = quote_spanned!(callee.span()=> #callee(#(#passed),*));
    let answered =
        |answer| quote!(::core::result::Result::Ok::<_, ::haft::__private::Refusal>(#answer));
    let answer = if function.item.sig.asyncness.is_some() {
        answered(quote!(#call.await))
    } else if let Some(room) = room {
        quote!(::haft::__private::on_thread(&#room, move || #call).await)
    } else {
        answered(call)
    };
    quote!(#read #answer)
}

fn text(argument: &Argument, decode: &Ident, request: &Ident) -> TokenStream {
    let (name, kind) = (&argument.name, &argument.kind);
    // A type that cannot be read is told where it is written.
    let read = |kind: &Type| {
        let span = kind.span();
        quote_spanned!(span=> ::haft::__private::#decode::<#kind>(&#request, #name)?)
    };
    match (argument.optional(), &argument.default) {
        (Some(inner), _) => read(inner),
        (None, None) => {
            let read = read(kind);
            quote!(::haft::__private::there(#read, #name)?)
        }
        (None, Some(Default::OfType)) => {
            let read = read(kind);
            quote!(#read.unwrap_or_default())
        }
        (None, Some(Default::Value(value))) => {
            let (read, value) = (read(kind), expand::owned(value));
            quote!(match #read { ::core::option::Option::Some(value) => value, _ => #value })
        }
    }
}

/// The calls that say what suggests values.
pub(crate) fn completions(function: &Function) -> TokenStream {
    let arguments = function.arguments().filter_map(|argument| {
        let (name, complete) = (&argument.name, argument.complete.as_ref()?);
        Some(quote!(.complete(#name, #complete)))
    });
    quote!(#(#arguments)*)
}
