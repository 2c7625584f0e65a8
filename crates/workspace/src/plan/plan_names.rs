//! The names in the directory of plans: which plans there are, and which have approvals, without reading any
//! of them.

use super::hash::{PlanHash, PlanRef};
use super::store::{FindError, MAX_CANDIDATES};

const PLAN: &str = ".toml";
const APPROVAL: &str = ".approval.json";

/// The names in the directory of plans, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanNames(Vec<String>);

impl PlanNames {
    pub fn new(mut names: Vec<String>) -> PlanNames {
        names.sort_unstable();
        PlanNames(names)
    }

    /// Returns the hashes of all plans, sorted.
    pub fn plans(&self) -> impl Iterator<Item = PlanHash> {
        let hashes = self.0.iter().filter_map(|name| name.strip_suffix(PLAN));
        hashes.filter_map(PlanHash::read)
    }

    /// Returns the names of files that look like plans and cannot be one.
    pub fn misnamed(&self) -> impl Iterator<Item = &str> {
        let names = self.0.iter().map(String::as_str);
        names.filter(|name| {
            let hash = name.strip_suffix(PLAN);
            hash.is_some_and(|hash| PlanHash::read(hash).is_none())
        })
    }

    /// Returns the names of the files that may approve a plan.
    pub fn approvals_of(&self, plan: &PlanHash) -> impl Iterator<Item = &String> {
        let prefix = format!("{plan}.");
        let from = self
            .0
            .partition_point(|name| name.as_str() < prefix.as_str());
        let own = self.0.iter().skip(from);
        let own = own.take_while(move |name| name.starts_with(&prefix));
        own.filter(|name| name.ends_with(APPROVAL))
    }

    /// Returns the plans that have a file of an approval, sorted by hash.
    pub fn with_approvals(&self) -> Vec<PlanHash> {
        let names = self.0.iter().filter(|name| name.ends_with(APPROVAL));
        let hashes = names.filter_map(|name| PlanHash::read(name.split('.').next()?));
        let mut hashes: Vec<_> = hashes.filter(|hash| self.contains(hash)).collect();
        hashes.dedup();
        hashes
    }

    /// Returns the plans that have no file of an approval.
    pub fn drafts(&self) -> impl Iterator<Item = PlanHash> {
        self.plans()
            .filter(|plan| self.approvals_of(plan).next().is_none())
    }

    pub fn contains(&self, plan: &PlanHash) -> bool {
        let name = format!("{plan}{PLAN}");
        self.0.binary_search(&name).is_ok()
    }

    /// Finds the plan that a reference means.
    pub fn find(&self, reference: &PlanRef) -> Result<PlanHash, FindError> {
        let from = self
            .0
            .partition_point(|name| name.as_str() < reference.as_str());
        let same = self.0.iter().skip(from);
        let same = same.take_while(|name| name.starts_with(reference.as_str()));
        let hashes = same.filter_map(|name| PlanHash::read(name.strip_suffix(PLAN)?));
        let mut found: Vec<_> = hashes.take(MAX_CANDIDATES).collect();
        match found.len() {
            0 => Err(FindError::Missing),
            1 => found.pop().ok_or(FindError::Missing),
            _ => Err(FindError::Ambiguous(found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::hash;
    use proptest::prelude::*;

    fn name(plan: u8, kind: u8) -> String {
        let hash = hash(&plan.to_string());
        match kind {
            0 => format!("{hash}.toml"),
            1 => format!("{hash}.0011223344556677.approval.json"),
            2 => format!("{hash}.8899aabbccddeeff.approval.json"),
            3 => format!("{hash}.toml.bak"),
            4 => format!(".{hash}.toml.0.tmp"),
            _ => format!("{plan}.toml"),
        }
    }

    proptest! {
        #[test]
        fn names_agree_with_a_search_through_all(
            entries in prop::collection::btree_set((0..6u8, 0..6u8), 0..24),
        ) {
            let names: Vec<_> = entries.iter().map(|(plan, kind)| name(*plan, *kind)).collect();
            let found = PlanNames::new(names);
            let hashes = |kinds: &[u8]| {
                let with = entries.iter().filter(|(_, kind)| kinds.contains(kind));
                let mut hashes: Vec<_> = with.map(|(plan, _)| hash(&plan.to_string())).collect();
                hashes.sort();
                hashes.dedup();
                hashes
            };
            let plans = hashes(&[0]);
            let approved: Vec<_> = hashes(&[1, 2]).into_iter().filter(|plan| plans.contains(plan)).collect();
            prop_assert_eq!(found.plans().collect::<Vec<_>>(), plans.clone());
            prop_assert_eq!(found.with_approvals(), approved.clone());
            let drafts: Vec<_> = plans.iter().filter(|plan| !approved.contains(plan)).cloned().collect();
            prop_assert_eq!(found.drafts().collect::<Vec<_>>(), drafts);
            prop_assert_eq!(found.misnamed().count(), entries.iter().filter(|(_, kind)| *kind == 5).count());
            for plan in 0..6 {
                let plan_hash = hash(&plan.to_string());
                let files = entries.iter().filter(|(of, kind)| *of == plan && [1, 2].contains(kind)).count();
                prop_assert_eq!(found.approvals_of(&plan_hash).count(), files);
                let reference = PlanRef::read(&plan_hash.as_str()[..12]).unwrap();
                prop_assert_eq!(found.find(&reference).ok(), plans.contains(&plan_hash).then_some(plan_hash));
            }
        }
    }
}
