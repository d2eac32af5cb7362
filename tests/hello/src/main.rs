//! The least that a function can be, for `tests/deploy`: its start and its memory stand beside the api function's.

use lambda_http::{Error, Request, run, service_fn};

#[tokio::main]
async fn main() -> Result<(), Error> {
    run(service_fn(async |_: Request| Ok::<_, Error>("hello"))).await
}
