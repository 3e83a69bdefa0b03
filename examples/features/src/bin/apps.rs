//! An app: a page that hosts show beside the conversation, fed with what a tool answers. Others use
//! the tool as any other, and get the chart as text.
//! `npx @modelcontextprotocol/inspector target/debug/apps`, tab "Apps".

use haft::{Context, Json, Resource, Ui};
use schemars::JsonSchema;
use serde::Serialize;

/// Where the page is.
const CHART: &str = "ui://sales/chart";

/// What was sold in a month.
#[derive(Serialize, JsonSchema)]
struct Month {
    /// Its name.
    month: &'static str,
    /// How many pieces.
    sold: u32,
}

/// What the page draws.
#[derive(Serialize, JsonSchema)]
struct Sales {
    months: Vec<Month>,
    /// A bar for each month, where no page is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    chart: Option<String>,
}

/// A line with a bar, a tenth of what was sold long.
fn bar(Month { month, sold }: &Month) -> String {
    format!("{month:<8} {} {sold}\n", "#".repeat(*sold as usize / 10))
}

/// What the shop sold in the first months of the year.
#[haft::tool(read_only)]
fn sales(
    context: &Context,
    /// How many months, from January on.
    #[haft(default = 6, range(1..=6))]
    months: usize,
) -> Json<Sales> {
    const NAMES: [&str; 6] = ["January", "February", "March", "April", "May", "June"];
    const SOLD: [u32; 6] = [120, 95, 180, 210, 160, 240];
    let all = NAMES.into_iter().zip(SOLD).map(|(month, sold)| Month { month, sold });
    let months: Vec<Month> = all.take(months).collect();
    let chart = (!context.client().ui).then(|| months.iter().map(bar).collect());
    Json(Sales { months, chart })
}

fn main() -> haft::Result<()> {
    // The page loads nothing and asks for nothing, so the host may shut it in.
    let may = Ui { prefers_border: Some(true), ..Ui::default() };
    haft::server("apps", "1.0.0")
        .resource(Resource::ui(CHART, "chart", include_str!("../chart.html"), &may))
        .tool(sales::tool().ui(CHART))
        .run()
}
