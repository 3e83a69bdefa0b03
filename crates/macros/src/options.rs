//! The words in an attribute: `name`, `name = value` or `name(value)`, with commas in between. Read
//! by everything that has options; what a word means is not known here.

use crate::mistakes::{Mistakes, suggestion};
use proc_macro2::{Ident, TokenStream};
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Result, Token, parenthesized};

/// One option.
pub(crate) struct Entry {
    pub(crate) name: Ident,
    value: Option<Expr>,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = Ident::parse_any(input)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Some(input.parse()?)
        } else if input.peek(syn::token::Paren) {
            let content;
            parenthesized!(content in input);
            Some(content.parse()?)
        } else {
            None
        };
        Ok(Self { name, value })
    }
}

/// The options of an attribute, none of them twice.
pub(crate) fn read(tokens: TokenStream, mistakes: &mut Mistakes) -> Vec<Entry> {
    let list = Punctuated::<Entry, Token![,]>::parse_terminated;
    let entries = mistakes.take(list.parse2(tokens)).unwrap_or_default();
    unique(entries, mistakes)
}

/// The same after a text that stands first: `"config://app", mime = "…"`.
pub(crate) fn read_after_text(
    tokens: TokenStream,
    mistakes: &mut Mistakes,
    missing: &str,
) -> (Option<LitStr>, Vec<Entry>) {
    let list = |input: ParseStream<'_>| {
        let text: LitStr = input.parse().map_err(|error| Error::new(error.span(), missing))?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        Ok((text, Punctuated::<Entry, Token![,]>::parse_terminated(input)?))
    };
    match mistakes.take(list.parse2(tokens)) {
        Some((text, entries)) => (Some(text), unique(entries, mistakes)),
        None => (None, Vec::new()),
    }
}

fn unique(entries: impl IntoIterator<Item = Entry>, mistakes: &mut Mistakes) -> Vec<Entry> {
    let mut kept: Vec<Entry> = Vec::new();
    for entry in entries {
        if kept.iter().any(|known| known.name == entry.name) {
            mistakes.say(&entry.name, format!("`{}` is there twice", entry.name));
        } else {
            kept.push(entry);
        }
    }
    kept
}

impl Entry {
    /// The value, if there is one.
    pub(crate) fn value(&self) -> Option<&Expr> {
        self.value.as_ref()
    }

    pub(crate) fn expect_value(&self, example: &str) -> Result<&Expr> {
        self.value.as_ref().ok_or_else(|| self.wrong(example))
    }

    pub(crate) fn text(&self, example: &str) -> Result<LitStr> {
        match &self.value {
            Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Ok(text.clone()),
            _ => Err(self.wrong(example)),
        }
    }

    /// `read_only` or `read_only = false`.
    pub(crate) fn flag(&self) -> Result<bool> {
        match &self.value {
            None => Ok(true),
            Some(Expr::Lit(ExprLit { lit: Lit::Bool(flag), .. })) => Ok(flag.value),
            Some(_) => Err(self.wrong(&format!("{0}` or `{0} = false", self.name))),
        }
    }

    /// A word that takes no value.
    pub(crate) fn word(&self) -> Result<()> {
        if self.value.is_none() { Ok(()) } else { Err(self.wrong(&self.name.to_string())) }
    }

    /// `500ms`, `5s`, `2m` or `1h`.
    pub(crate) fn duration(&self) -> Result<Duration> {
        let example = format!("{} = \"5s\"", self.name);
        let text = self.text(&example)?;
        let value = text.value();
        let digits = value.trim_end_matches(|character: char| character.is_ascii_alphabetic());
        let unit_ms = match value.get(digits.len()..).unwrap_or_default() {
            "ms" => 1,
            "s" => 1000,
            "m" => 60 * 1000,
            "h" => 60 * 60 * 1000,
            _ => 0,
        };
        let time = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_ms));
        match time {
            Some(time_ms) if (1..=DURATION_MS_MAX).contains(&time_ms) => {
                Ok(Duration::from_millis(time_ms))
            }
            _ => Err(Error::new(text.span(), "a time is 1ms to 24h: write `500ms`, `5s` or `2m`")),
        }
    }

    pub(crate) fn wrong(&self, example: &str) -> Error {
        Error::new(self.name.span(), format!("write `{example}`"))
    }

    /// The mistake that there is no such option.
    pub(crate) fn unknown(&self, of: &str, known: &[&str]) -> Error {
        let name = self.name.unraw().to_string();
        let hint = suggestion(&name, known);
        Error::new(self.name.span(), format!("{of} has no option `{name}`; {hint}"))
    }
}

const DURATION_MS_MAX: u64 = 24 * 60 * 60 * 1000;
