//! What must hold for any bytes: the bodies of the fuzz targets, which also run on their seeds as
//! ordinary tests.

mod envelope;
mod http_request;
mod link_calls;
mod link_frames;
mod repair;

// What the files of `haft-agent` need that `link_calls` includes.
#[path = "../../crates/agent/src/credit.rs"]
mod credit;
#[path = "../../crates/agent/src/limits.rs"]
#[expect(dead_code, reason = "not all of it is fuzzed")]
mod limits;
#[path = "../../crates/agent/src/sync.rs"]
mod sync;

pub use envelope::agrees_with_serde_json;
pub use http_request::every_answer_is_well_formed;
pub use link_calls::calls_keep_their_word;
pub use link_frames::frames_are_read_again;
pub use repair::a_repair_fits;

#[cfg(test)]
mod tests {
    /// Runs a check on every seed of a target.
    fn on_seeds(target: &str, check: fn(&[u8])) {
        let seeds = format!("{}/seeds/{target}", env!("CARGO_MANIFEST_DIR"));
        let mut count = 0;
        for seed in std::fs::read_dir(seeds).expect("the seeds are here") {
            check(&std::fs::read(seed.expect("a seed").path()).expect("a readable seed"));
            count += 1;
        }
        assert!(count > 0, "{target} has seeds");
    }

    #[test]
    fn envelopes_agree_on_the_seeds() {
        on_seeds("envelope", super::agrees_with_serde_json);
    }

    #[test]
    fn frames_are_read_again_on_the_seeds() {
        on_seeds("link_frames", super::frames_are_read_again);
    }

    #[test]
    fn calls_keep_their_word_on_the_seeds() {
        on_seeds("link_calls", super::calls_keep_their_word);
    }

    #[test]
    fn repairs_fit_on_the_seeds() {
        on_seeds("repair", super::a_repair_fits);
    }

    #[test]
    fn answers_are_well_formed_on_the_seeds() {
        on_seeds("http_request", super::every_answer_is_well_formed);
    }
}
