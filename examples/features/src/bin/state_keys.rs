//! Replicas that share keys: a modern client may bring its answer to another process than the one
//! that asked, because what the first one knew travels sealed with the client.
//! `STATE_KEY='a secret of 16 characters or more' target/debug/state_keys --http :7301`, and :7302

use haft::{AskError, Context, StateKey};
use serde::Deserialize;

#[derive(Deserialize)]
struct Agreement {
    agreed: bool,
}

const AGREEMENT: &str = r#"{"type":"object","required":["agreed"],
    "properties":{"agreed":{"type":"boolean","title":"Pay?"}}}"#;

/// Pays an invoice, once somebody has agreed.
#[haft::tool(destructive)]
async fn pay_invoice(
    invoice: String,
    #[haft(range(1..=10_000))] euros: u32,
    context: &Context,
) -> Result<String, AskError> {
    // Drawn by the replica that asks, kept by the one that pays.
    let asked_by = context.once("asked_by", async { std::process::id() }).await;
    let question = format!("Pay {euros} € for {invoice}?");
    let answer = context.elicit::<Agreement>("agreement", &question, AGREEMENT).await?;
    if !answer.accepted().is_some_and(|answer| answer.agreed) {
        return Ok("Nothing is paid.".to_owned());
    }
    let paid_by = std::process::id();
    Ok(format!("{euros} € are paid: asked by process {asked_by}, paid by {paid_by}."))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The first key seals and all open, so a new one is put first and the old one removed later.
    let texts = std::env::var("STATE_KEY").map_err(|_| "STATE_KEY is not set")?;
    let keys: Option<Vec<StateKey>> = texts.split(',').map(StateKey::from_text).collect();
    let keys = keys.ok_or("each key in STATE_KEY needs 16 characters")?;
    haft::server("state_keys", "1.0.0").state_keys(keys).tool(pay_invoice::tool()).run()?;
    Ok(())
}
