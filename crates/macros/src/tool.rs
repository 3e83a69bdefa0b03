//! `#[haft::tool]`: its options, and the tool made of its function.

use crate::comment;
use crate::expand::{self, Decoding, Source};
use crate::function::Function;
use crate::kind::Kind;
use crate::mistakes::Mistakes;
use crate::options::{self, Entry};
use crate::parameter::{Parameter, hidden};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use std::time::Duration;
use syn::{Expr, LitStr, Result};

/// What the attribute may say.
const OPTIONS: [&str; 10] = [
    "blocking",
    "destructive",
    "idempotent",
    "name",
    "open_world",
    "read_only",
    "task",
    "task_ttl",
    "timeout",
    "title",
];

/// What the attribute said.
#[derive(Default)]
struct Options {
    blocking: Option<Ident>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    name: Option<LitStr>,
    open_world: Option<bool>,
    read_only: Option<bool>,
    /// A variant of `TaskUse`.
    task: Option<Ident>,
    task_ttl: Option<Duration>,
    timeout: Option<(Ident, Duration)>,
    title: Option<LitStr>,
}

/// Writes what stands instead of the function.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let options = Options::read(options, &mut mistakes);
    let function = Function::read(item, Kind::Tool, &mut mistakes);
    if let Some(function) = &function {
        expand::check_names(function, &mut mistakes);
        options.check(function, &mut mistakes);
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
            "destructive" => self.destructive = Some(entry.flag()?),
            "idempotent" => self.idempotent = Some(entry.flag()?),
            "name" => self.name = Some(entry.text("name = \"other_name\"")?),
            "open_world" => self.open_world = Some(entry.flag()?),
            "read_only" => self.read_only = Some(entry.flag()?),
            "task" => self.task = Some(task_use(entry)?),
            "task_ttl" => self.task_ttl = Some(entry.duration()?),
            "timeout" => self.timeout = Some((entry.name.clone(), entry.duration()?)),
            "title" => self.title = Some(entry.text("title = \"What people read\"")?),
            _ => return Err(entry.unknown("a tool", &OPTIONS)),
        }
        Ok(())
    }

    fn check(&self, function: &Function, mistakes: &mut Mistakes) {
        expand::check_blocking(function, self.blocking.as_ref(), mistakes);
        if let (Some((timeout, _)), None, None) =
            (&self.timeout, &function.item.sig.asyncness, &self.blocking)
        {
            let message = "a function that is not async is not interrupted: add `blocking`, and \
                the call is answered in time, or leave out the time limit";
            mistakes.say(timeout, message);
        }
        let name = expand::name(function, self.name.as_ref());
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if !(1..=128).contains(&name.len()) || !name.bytes().all(is_allowed) {
            let message = "no name for a tool: use 1 to 128 letters, digits, `_`, `-` or `.`";
            match &self.name {
                Some(text) => mistakes.say(text, message),
                None => {
                    let ident = &function.item.sig.ident;
                    mistakes.say(ident, format!("{message}, in `name = \"..\"`"));
                }
            }
        }
    }

    /// The calls that finish the tool.
    fn calls(&self) -> TokenStream {
        let title = self.title.iter().map(|title| quote!(.title(#title)));
        let timeout = self.timeout.iter().map(|(_, time)| duration(*time));
        let timeout = timeout.map(|timeout| quote!(.timeout(#timeout)));
        let task = self.task.iter().map(|variant| quote!(.task(::haft::TaskUse::#variant)));
        let task_ttl = self.task_ttl.map(duration).map(|ttl| quote!(.task_ttl(#ttl)));
        let hints = [self.read_only, self.destructive, self.idempotent, self.open_world];
        let annotations = hints.iter().any(Option::is_some).then(|| {
            let hints = hints.map(|hint| match hint {
                Some(hint) => quote!(::core::option::Option::Some(#hint)),
                None => quote!(::core::option::Option::None),
            });
            quote!(.annotations(::haft::__private::annotations(#(#hints),*)))
        });
        quote!(#(#title)* #(#timeout)* #annotations #(#task)* #task_ttl)
    }
}

fn duration(time: Duration) -> TokenStream {
    let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    quote!(::core::time::Duration::from_millis(#time_ms))
}

/// `task` alone, or a word for when a call becomes one.
fn task_use(entry: &Entry) -> Result<Ident> {
    let variant = match entry.value() {
        None => "Always",
        Some(Expr::Path(path)) if path.path.is_ident("on_demand") => "OnDemand",
        Some(Expr::Path(path)) if path.path.is_ident("required") => "Required",
        Some(_) => return Err(entry.wrong("task`, `task = on_demand` or `task = required")),
    };
    Ok(Ident::new(variant, Span::call_site()))
}

fn made(function: &Function, options: &Options) -> TokenStream {
    let signature = &function.item.sig;
    let (callee, result) = (&signature.ident, function.result());
    let is_given = function.given().next().is_some();
    let (maker, source) = match (&signature.asyncness, &options.blocking, is_given) {
        (Some(_), ..) => ("later", Some(Source::Call)),
        (None, Some(_), true) => ("blocking_in", Some(Source::Context)),
        (None, Some(_), false) => ("blocking", None),
        (None, None, true) => ("now_in", Some(Source::Call)),
        (None, None, false) => ("now", None),
    };
    let decoding = Decoding::of(function, source.unwrap_or(Source::Context));
    let Decoding { items, kind, passed } = decoding;
    let call = match signature.asyncness {
        // What the call has is taken before the function waits, as the call is gone then.
        Some(_) => {
            let name = |index| hidden(&format!("given_{index}"));
            let names: Vec<_> = (0..passed.len()).map(name).collect();
            let borrows = function.parameters.iter().map(Parameter::borrow);
            let call = quote_spanned!(callee.span()=> #callee(#(#borrows #names),*));
            quote!({ #(let #names = #passed;)* async move { #call.await } })
        }
        None => {
            let borrows = function.parameters.iter().map(Parameter::borrow);
            quote_spanned!(callee.span()=> #callee(#(#borrows #passed),*))
        }
    };
    let arguments = expand::arguments();
    let more = source.map(Source::variable).map(|(name, kind)| quote!(, #name: #kind));
    let closure = quote!(move |#arguments: #kind #more| #call);
    let maker = Ident::new(maker, Span::call_site());
    let (name, calls) = (expand::name(function, options.name.as_ref()), options.calls());
    let comment = comment::text(&function.item.attrs);
    let (taken, wanted) = (expand::taken(function), expand::wanted(function));
    let body = quote! {
        #taken
        #items
        let made = ::haft::__private::#maker::<#kind, #result, _>(#name, #closure);
        #wanted
        ::haft::__private::described(made, #comment) #calls
    };
    expand::companion(function, Kind::Tool, &quote!(::haft::Tool), &body)
}
