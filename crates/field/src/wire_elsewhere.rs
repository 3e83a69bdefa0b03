//! A wire where there are no namespaces: none.

pub(crate) fn run(_delay: &str, _loss: &str, _seed: &str) -> Result<(), String> {
    Err("a wire needs the network namespaces of Linux".to_owned())
}
