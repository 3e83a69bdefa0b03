//! One parameter: an argument that clients send, a struct of such arguments, or something that the
//! server gives. Which it is, is told by the last part of its type's path.

use crate::kind::Kind;
use crate::mistakes::{Mistakes, suggestion};
use crate::options::{self, Entry};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{
    Attribute, Expr, ExprRange, GenericArgument, LitStr, Meta, Pat, PatType, PathArguments,
    PathSegment, RangeLimits, Result, Type,
};

/// A parameter of a tool, resource or prompt.
pub(crate) enum Parameter {
    Argument(Box<Argument>),
    Given(Given),
    Whole(Whole),
}

/// One argument.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    /// The name that clients use.
    pub(crate) name: String,
    pub(crate) kind: Type,
    /// What becomes of the same attributes on a field.
    pub(crate) attributes: Vec<Attribute>,
    /// Constraints, as schemars writes them.
    pub(crate) constraints: Vec<TokenStream>,
    pub(crate) default: Option<Default>,
    pub(crate) header: Option<LitStr>,
    /// The function that suggests values.
    pub(crate) complete: Option<Expr>,
}

/// What an argument is when it is left out.
pub(crate) enum Default {
    OfType,
    Value(Box<Expr>),
}

/// What the server gives.
pub(crate) struct Given {
    pub(crate) kind: Type,
    is_borrowed: bool,
}

/// A struct whose fields are arguments.
pub(crate) struct Whole {
    /// The struct.
    pub(crate) kind: Type,
    /// The function takes it in an `Args`.
    pub(crate) is_wrapped: bool,
}

/// The types that are no arguments. One more of them needs a `Given` in the library.
const GIVEN: [&str; 4] = ["Context", "Headers", "Principal", "State"];

impl Parameter {
    /// Reads a parameter and takes away the attributes that only we understand.
    pub(crate) fn read(input: &mut PatType, of: Kind, mistakes: &mut Mistakes) -> Option<Self> {
        let attributes = Attributes::take(input, of, mistakes);
        if let Some(given) = Given::read(&input.ty, mistakes) {
            attributes.refuse_all("what the server gives", mistakes);
            return Some(Self::Given(given));
        }
        if of.takes_json()
            && let Some(whole) = Whole::read(&input.ty, &attributes, mistakes)
        {
            return Some(Self::Whole(whole));
        }
        Argument::read(input, of, attributes, mistakes).map(Box::new).map(Self::Argument)
    }
}

impl Parameter {
    /// What stands before it where it is passed.
    pub(crate) fn borrow(&self) -> Option<TokenStream> {
        match self {
            Self::Given(given) if given.is_borrowed => Some(quote!(&)),
            Self::Argument(_) | Self::Given(_) | Self::Whole(_) => None,
        }
    }
}

impl Given {
    fn read(kind: &Type, mistakes: &mut Mistakes) -> Option<Self> {
        let (inner, is_borrowed) = match plain(kind) {
            Type::Reference(reference) => (plain(&reference.elem), true),
            kind => (kind, false),
        };
        let is_given =
            last_segment(inner).is_some_and(|last| GIVEN.iter().any(|g| last.ident == g));
        if !is_given {
            return None;
        }
        if let Type::Reference(reference) = plain(kind)
            && let Some(token) = &reference.mutability
        {
            mistakes.say(token, "the server gives it to be read: write `&`, not `&mut`");
        }
        Some(Self { kind: inner.clone(), is_borrowed })
    }
}

impl Whole {
    fn read(kind: &Type, attributes: &Attributes, mistakes: &mut Mistakes) -> Option<Self> {
        if let Some(inner) = inside(kind, "Args") {
            attributes.refuse_all("`Args`", mistakes);
            return Some(Self { kind: inner.clone(), is_wrapped: true });
        }
        let entry = attributes.entries.iter().find(|entry| entry.name == "flatten")?;
        mistakes.take(entry.word());
        if let Some(other) = attributes.entries.iter().find(|other| other.name != "flatten") {
            mistakes.say(&other.name, "`flatten` is about the fields, and stands alone");
        }
        Some(Self { kind: kind.clone(), is_wrapped: false })
    }
}

impl Argument {
    fn read(
        input: &PatType,
        of: Kind,
        attributes: Attributes,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        check_type(&input.ty, of, mistakes);
        let ident = match &*input.pat {
            Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
                pattern.ident.clone()
            }
            pattern => {
                let all = if of.takes_json() {
                    ", or take all of them as `Args(pattern): Args<T>`"
                } else {
                    ""
                };
                let one = of.parameter();
                mistakes.say(
                    pattern,
                    format!(
                        "{one} has one name, which clients use: take it apart in the body{all}"
                    ),
                );
                return None;
            }
        };
        let mut argument = Self {
            name: ident.unraw().to_string(),
            ident,
            kind: (*input.ty).clone(),
            attributes: attributes.passed,
            constraints: Vec::new(),
            default: None,
            header: None,
            complete: None,
        };
        for entry in &attributes.entries {
            mistakes.take(argument.set(entry, of));
        }
        if let (Some(_), Some(_)) = (&argument.default, argument.optional()) {
            let message = "what has a default is never absent: write the type without `Option`";
            mistakes.say(&argument.kind, message);
        }
        Some(argument)
    }

    fn set(&mut self, entry: &Entry, of: Kind) -> Result<()> {
        let name = entry.name.unraw().to_string();
        if !of.parameter_options().contains(&&*name) {
            return Err(entry.unknown(of.parameter(), of.parameter_options()));
        }
        match &*name {
            "complete" => {
                self.complete = Some(entry.expect_value("complete = function")?.clone());
            }
            "default" => {
                let value = entry.value().cloned().map(Box::new);
                self.default = Some(value.map_or(Default::OfType, Default::Value));
            }
            "header" => self.header = Some(header(entry)?),
            "length" => {
                let bounds = bounds(entry, "length(1..=64)")?;
                self.constraints.push(quote!(length(#bounds)));
            }
            "range" => {
                let bounds = bounds(entry, "range(1..=100)")?;
                self.constraints.push(quote!(range(#bounds)));
            }
            _ => {
                let name = entry.text("rename = \"other\"")?;
                if name.value().is_empty() {
                    return Err(syn::Error::new(name.span(), "a name is not empty"));
                }
                self.name = name.value();
            }
        }
        Ok(())
    }

    /// `T` of an `Option<T>`, which may be left out.
    pub(crate) fn optional(&self) -> Option<&Type> {
        inside(&self.kind, "Option")
    }
}

/// What stood on a parameter.
struct Attributes {
    entries: Vec<Entry>,
    /// For the field that it becomes: doc comments, serde's and schemars' attributes.
    passed: Vec<Attribute>,
}

impl Attributes {
    fn take(input: &mut PatType, of: Kind, mistakes: &mut Mistakes) -> Self {
        let mut taken = Self { entries: Vec::new(), passed: Vec::new() };
        for attribute in std::mem::take(&mut input.attrs) {
            let name = attribute.path().get_ident().map(ToString::to_string).unwrap_or_default();
            match &*name {
                "haft" => match &attribute.meta {
                    Meta::List(list) => {
                        taken.entries.extend(options::read(list.tokens.clone(), mistakes));
                    }
                    meta => mistakes.say(meta, "write `#[haft(option)]`"),
                },
                "doc" => taken.passed.push(attribute),
                "schemars" | "serde" if of.takes_json() => taken.passed.push(attribute),
                // They are about the parameter and not about the argument.
                "allow" | "deny" | "expect" | "forbid" | "warn" => input.attrs.push(attribute),
                name => {
                    let known: &[&str] =
                        if of.takes_json() { &["haft", "schemars", "serde"] } else { &["haft"] };
                    let (one, hint) = (of.parameter(), suggestion(name, known));
                    mistakes.say(&attribute, format!("no attribute of {one}; {hint}"));
                }
            }
        }
        taken
    }

    /// Nothing here can be said of what is no argument.
    fn refuse_all(&self, of: &str, mistakes: &mut Mistakes) {
        for entry in &self.entries {
            let message = format!("{of} is no argument and has no options");
            mistakes.say(&entry.name, message);
        }
        let passed = self.passed.iter().filter(|attribute| !attribute.path().is_ident("doc"));
        for attribute in passed {
            mistakes.say(attribute, format!("{of} is no argument and has no options"));
        }
    }
}

/// An argument owns its value, as the message that it came with is gone when the function waits.
/// What is borrowed deep inside is told too, as the compiler would speak of a struct that nobody
/// wrote.
fn check_type(kind: &Type, of: Kind, mistakes: &mut Mistakes) {
    match plain(kind) {
        Type::Reference(reference) => {
            let of = of.name();
            let owned = match plain(&reference.elem) {
                Type::Slice(slice) => format!("Vec<{}>", shown(&slice.elem)),
                inner if is_named(inner, "str") => "String".to_owned(),
                inner if is_named(inner, "Path") => "PathBuf".to_owned(),
                inner => shown(inner),
            };
            mistakes.say(kind, format!("a {of} owns its arguments: write `{owned}`"));
        }
        Type::ImplTrait(_) => {
            let of = of.name();
            mistakes.say(kind, format!("a {of} cannot be generic: clients send JSON"));
        }
        Type::Array(array) => check_type(&array.elem, of, mistakes),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|kind| check_type(kind, of, mistakes)),
        Type::Path(path) => {
            for segment in &path.path.segments {
                let PathArguments::AngleBracketed(list) = &segment.arguments else { continue };
                for argument in &list.args {
                    if let GenericArgument::Type(kind) = argument {
                        check_type(kind, of, mistakes);
                    }
                }
            }
        }
        _ => {}
    }
}

/// `a..=b`, `a..` or `..=b`, in schemars' words.
fn bounds(entry: &Entry, example: &str) -> Result<TokenStream> {
    let value = entry.expect_value(example)?;
    let Expr::Range(ExprRange { start, limits, end, .. }) = value else {
        return Err(syn::Error::new_spanned(value, format!("write `{example}`")));
    };
    if let (RangeLimits::HalfOpen(dots), Some(_)) = (limits, end) {
        let message = "the last value counts: write `..=`";
        return Err(syn::Error::new_spanned(dots, message));
    }
    let min = start.iter().map(|start| quote!(min = #start));
    let max = end.iter().map(|end| quote!(max = #end));
    let all = min.chain(max);
    Ok(quote!(#(#all),*))
}

/// A header's name, which is a token of HTTP (RFC 9110).
fn header(entry: &Entry) -> Result<LitStr> {
    let text = entry.text("header = \"Region\"")?;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let name = text.value();
    if name.is_empty() || !name.bytes().all(is_allowed) {
        let message = "no name of a header: use letters, digits and `-`";
        return Err(syn::Error::new(text.span(), message));
    }
    Ok(text)
}

fn is_named(kind: &Type, name: &str) -> bool {
    last_segment(kind).is_some_and(|last| last.ident == name)
}

/// `T` of `Name<T>`.
fn inside<'a>(kind: &'a Type, name: &str) -> Option<&'a Type> {
    let last = last_segment(plain(kind)).filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) if arguments.args.len() == 1 => Some(inner),
        _ => None,
    }
}

fn last_segment(kind: &Type) -> Option<&PathSegment> {
    match kind {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

/// The type without parentheses, which another macro may have put around it.
fn plain(kind: &Type) -> &Type {
    match kind {
        Type::Group(group) => plain(&group.elem),
        Type::Paren(paren) => plain(&paren.elem),
        kind => kind,
    }
}

/// A type as it is written by hand.
fn shown(kind: &Type) -> String {
    kind.to_token_stream().to_string().replace(" :: ", "::").replace(" < ", "<").replace(" >", ">")
}

/// A name that the function's own names do not meet.
pub(crate) fn hidden(name: &str) -> Ident {
    Ident::new(&format!("__haft_{name}"), Span::mixed_site())
}
