//! What somebody wants of a comparison: which cases, and for how long each. `comparing` reads it
//! from the command line; nothing is run here.

use serde_json::Value;

use crate::failure::Failure;

const USAGE: &str = "`bench peers`, `limits`, `runtimes` and `gateway` take --quick or --seconds \
                     N, and words that the name of a case must have, such as `http-echo-1 rmcp`";
/// How long each of two servers is loaded in a case, in seconds.
const SECONDS: u64 = 5;
const SECONDS_MAX: u64 = 3600;

/// What somebody wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wishes {
    /// About a second for each case: that everything runs, and not how fast.
    pub(super) quick: bool,
    pub(super) seconds: u64,
    words: Vec<String>,
}

impl Wishes {
    /// Every case.
    pub(super) fn all() -> Self {
        Self { quick: false, seconds: SECONDS, words: Vec::new() }
    }

    pub(super) fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut wishes = Self::all();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => wishes.quick = true,
                "--seconds" => {
                    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
                    let seconds = seconds.filter(|seconds| (1..=SECONDS_MAX).contains(seconds));
                    wishes.seconds = seconds.ok_or_else(|| {
                        Failure::BadArguments(format!("--seconds takes 1 to {SECONDS_MAX}"))
                    })?;
                }
                word if word.starts_with('-') => {
                    return Err(Failure::BadArguments(USAGE.to_owned()));
                }
                word => wishes.words.push(word.to_owned()),
            }
        }
        Ok(wishes)
    }

    /// The same for a table whose cases take as long as they do.
    pub(super) fn parse_untimed(table: &str, arguments: &[String]) -> Result<Self, Failure> {
        if arguments.iter().any(|it| it.starts_with('-') && it != "--quick") {
            return Err(Failure::BadArguments(format!(
                "`bench {table}` takes --quick, and words that the name of a case must have"
            )));
        }
        Self::parse(arguments)
    }

    /// Whether a case is among those that are wanted.
    pub(super) fn want(&self, scenario: &str, server: &str) -> bool {
        self.words.iter().all(|word| scenario.contains(word) || server.contains(word))
    }

    /// How `haft bench` is told how long to compare.
    pub(super) fn timing(&self) -> Vec<String> {
        let seconds = format!("{}s", self.seconds);
        let words = if self.quick {
            ["--warmup", "100ms", "--duration", "400ms", "--rounds", "2"]
        } else {
            ["--warmup", "1s", "--duration", &seconds, "--rounds", "10"]
        };
        words.map(str::to_owned).to_vec()
    }

    /// How long each of two servers is loaded in a case, in seconds.
    pub(super) fn each(&self) -> f64 {
        if self.quick { 0.4 } else { self.seconds as f64 }
    }

    /// What a command is told behind its words to load for as long as a case was loaded: nothing
    /// where that is the default, or where nothing is loaded for a time.
    pub(super) fn told_again(case: &Value) -> String {
        let seconds = &case["seconds"];
        match seconds.as_u64() {
            Some(seconds) if seconds != SECONDS => format!(" --seconds {seconds}"),
            None if seconds.is_number() => " --quick".to_owned(),
            _ => String::new(),
        }
    }

    /// How many rounds a comparison has whose servers are loaded one after the other.
    pub(super) const fn rounds(&self) -> u32 {
        if self.quick { 2 } else { 10 }
    }

    /// How often a cold start is timed in a round, and how many rounds there are.
    pub(super) const fn cold(&self) -> (u32, u32) {
        if self.quick { (2, 1) } else { (10, 10) }
    }
}

#[cfg(test)]
mod tests {
    use super::{SECONDS, Wishes};
    use crate::bench::aim::round;
    use serde_json::json;

    fn parse(text: &str) -> Result<Wishes, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Wishes::parse(&words).map_err(|failure| failure.to_string())
    }

    #[test]
    fn words_choose_cases() {
        let wants = |text: &str, scenario: &str, server: &str| {
            parse(text).expect("words").want(scenario, server)
        };
        assert!(wants("", "http-echo-1", "go-sdk") && wants("echo go", "http-echo-1", "go-sdk"));
        assert!(!wants("cold", "http-echo-1", "go-sdk") && !wants("rmcp", "http-echo-1", "go-sdk"));
        assert!(!wants("http-echo-1 mcp-go", "http-echo-32", "mcp-go"), "all words must fit");
    }

    #[test]
    fn what_is_told_again_loads_for_as_long() {
        for text in ["--seconds 2", "--seconds 3600", "--quick", ""] {
            let wishes = parse(text).expect("words");
            let told = Wishes::told_again(&json!({ "seconds": round(wishes.each()) }));
            assert_eq!(told.trim_start(), text);
            assert_eq!(parse(&told), Ok(wishes));
        }
        let told = format!("--seconds {SECONDS}");
        assert_eq!(parse(&told), parse(""), "the default needs no words");
        assert_eq!(Wishes::told_again(&json!({ "times": 10 })), "", "a cold start");
    }

    #[test]
    fn a_second_a_case_is_a_flag() {
        assert!(parse("--quick").is_ok_and(|wishes| wishes.quick));
        assert_eq!(parse("--seconds 9").map(|wishes| wishes.timing()[3].clone()), Ok("9s".into()));
        let words = ["--seconds", "9"].map(str::to_owned);
        assert!(Wishes::parse(&words).is_ok() && Wishes::parse_untimed("codec", &words).is_err());
        for wrong in ["--seconds", "--seconds 0", "--seconds x", "--quack"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
