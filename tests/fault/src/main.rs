//! One process of the fleet: `function api|deliver|relay|dead_letter`. Built for the tests only.

fn main() -> anyhow::Result<()> {
    fault::function::main(std::env::args().nth(1).as_deref())
}
