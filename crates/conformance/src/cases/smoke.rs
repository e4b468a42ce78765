//! C01: the smallest thing that can work, once for each way to set the channel up.

use crate::scene::{Scene, Trouble, mirror};
use crate::script::{Batch, Script, Sizes, Step};

pub(crate) fn open_attach_exchange_finish(scene: &Scene<'_>) -> Result<(), Trouble> {
    for options in scene.entry.setups() {
        let size = scene.size(64, &options);
        let script = Script::default()
            .exchange(Batch::new(1, Sizes::List(vec![size]), 0))
            .both(Step::Finish);
        mirror(&scene.play(&options, size, script)?)?;
    }
    Ok(())
}
