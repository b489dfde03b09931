//! Setting and clearing faults on a running cluster.

use super::{Fault, FaultId};
use crate::FakePve;
use crate::engine::State;

impl FakePve {
    /// Sets a fault: it strikes until it is spent or cleared. One that is a condition of the cluster (a node that is
    /// offline, a locked guest) is in force when this returns.
    ///
    /// # Panics
    /// When it names a node, guest or storage that is not there.
    pub fn fault(&self, fault: Fault) -> FaultId {
        let mut guard = self.shared.lock();
        let State { world, faults, .. } = &mut *guard;
        match faults.set(world, fault) {
            Ok(id) => id,
            Err(error) => panic!("the fault cannot be set: {error}"),
        }
    }

    /// Clears a fault; `false` when it was spent already.
    pub fn clear_fault(&self, id: FaultId) -> bool {
        let mut guard = self.shared.lock();
        let State { world, faults, .. } = &mut *guard;
        faults.clear(world, id)
    }

    /// Clears every fault.
    pub fn clear_faults(&self) {
        let mut guard = self.shared.lock();
        let State { world, faults, .. } = &mut *guard;
        faults.clear_all(world);
    }

    /// The faults that are set, oldest first, with the number of times that they still strike.
    pub fn faults(&self) -> Vec<(FaultId, Fault)> {
        self.shared.lock().faults.list().map(|(id, fault)| (id, fault.clone())).collect()
    }
}
