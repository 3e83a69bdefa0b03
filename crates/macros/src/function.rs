//! What every attribute here demands of its function, and the function apart from what the
//! attributes of its parameters said.

use crate::kind::Kind;
use crate::mistakes::Mistakes;
use crate::parameter::{Argument, Parameter};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, FnArg, Item, ItemFn, ReturnType, Safety, Type};

/// A function under one of our attributes.
pub(crate) struct Function {
    /// As it was written, without what only we understand.
    pub(crate) item: ItemFn,
    pub(crate) parameters: Vec<Parameter>,
}

impl Function {
    /// Reads an item.
    pub(crate) fn read(tokens: TokenStream, of: Kind, mistakes: &mut Mistakes) -> Option<Self> {
        let kind = of.name();
        let Ok(Item::Fn(mut item)) = syn::parse2(tokens.clone()) else {
            let first = tokens.into_iter().next();
            mistakes.say(first, format!("a {kind} is a function: `fn name(..) {{ .. }}`"));
            return None;
        };
        check_signature(&item, kind, mistakes);
        let mut parameters = Vec::new();
        for input in &mut item.sig.inputs {
            match input {
                FnArg::Receiver(receiver) => mistakes.say(
                    &*receiver,
                    format!(
                        "a {kind} is a function of its own: what `self` knows, pass in a `State<T>`"
                    ),
                ),
                FnArg::Typed(input) => parameters.extend(Parameter::read(input, of, mistakes)),
            }
        }
        Some(Self { item, parameters })
    }

    /// The type of the result, to be named where it can be.
    pub(crate) fn result(&self) -> TokenStream {
        match &self.item.sig.output {
            ReturnType::Default => quote!(()),
            ReturnType::Type(_, kind) if matches!(**kind, Type::ImplTrait(_)) => quote!(_),
            ReturnType::Type(_, kind) => quote!(#kind),
        }
    }

    /// What clients send, one by one.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(&**argument),
            Parameter::Given(_) | Parameter::Whole(_) => None,
        })
    }

    /// The types of what the server gives.
    pub(crate) fn given(&self) -> impl Iterator<Item = &Type> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Given(given) => Some(&given.kind),
            Parameter::Argument(_) | Parameter::Whole(_) => None,
        })
    }

    /// The attributes that decide whether the function is there at all.
    pub(crate) fn conditions(&self) -> Vec<&Attribute> {
        self.item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect()
    }
}

fn check_signature(item: &ItemFn, kind: &str, mistakes: &mut Mistakes) {
    let signature = &item.sig;
    let generics = &signature.generics;
    if !generics.params.is_empty() {
        mistakes.say(&generics.params, format!("a {kind} cannot be generic: clients send JSON"));
    }
    if let Some(clause) = &generics.where_clause {
        mistakes.say(clause, format!("a {kind} cannot be generic: clients send JSON"));
    }
    if let Safety::Unsafe(token) = &signature.safety {
        mistakes.say(token, format!("a {kind} is called by strangers and cannot be unsafe"));
    }
    if let Some(abi) = &signature.abi {
        mistakes.say(abi, format!("a {kind} is a Rust function, without an ABI"));
    }
    if let Some(variadic) = &signature.variadic {
        mistakes.say(variadic, format!("a {kind} has a number of parameters"));
    }
}
