//! The paths of an indexing policy as an automaton over the steps into a document.
//!
//! Each state holds the indexes that apply to its path, so a walk over a document takes one
//! transition for each step and never searches the list of paths. All document paths that the
//! policy does not mention share the `rest` state of the deepest policy path above them.

use std::collections::{BTreeMap, HashMap};

use orrery_model::{IndexPath, IndexScope, IndexStep, IndexingPolicy};

use crate::spatial::Grid;

#[derive(Debug, Clone)]
pub(crate) struct Automaton {
    states: Vec<State>,
    start: StateId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct StateId(usize);

/// The indexes at one path, or at many paths with equal rules.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) indexes: PathIndexes,
    /// Sorted by name.
    names: Vec<(Box<str>, StateId)>,
    element: StateId,
    /// The transition for a property name that is not in `names`.
    rest: StateId,
    /// No index applies at this state or at any state reachable from it.
    pub(crate) is_dead: bool,
}

/// The kinds of index that apply to the values at a path.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct PathIndexes {
    pub(crate) values: bool,
    pub(crate) geometries: Option<Grid>,
}

impl Automaton {
    /// Builds the automaton of a consistent policy. It agrees with [`IndexingPolicy::covers`] on
    /// the values at every path.
    pub(crate) fn new(policy: &IndexingPolicy) -> Automaton {
        let mut root = Node::default();
        for path in &policy.included {
            root.add(path, |rule| rule.included = true);
        }
        for path in &policy.excluded {
            root.add(path, |rule| rule.excluded = true);
        }
        for index in &policy.spatial {
            let grid = Grid::of(index);
            root.add(&index.path, |rule| rule.geometries = Some(grid));
        }
        // Added after the policy's paths, because `id` and `_ts` are indexed even when the policy
        // excludes them.
        for name in ALWAYS_INDEXED {
            root.child(IndexStep::Property(name.to_owned())).scalar = PathRule {
                included: true,
                ..PathRule::default()
            };
        }
        let mut states = States::default();
        let start = states.resolve(&root, PathIndexes::default());
        states.finish(start)
    }

    /// The automaton that applies an index where both `a` and `b` apply it.
    pub(crate) fn intersection(a: &Automaton, b: &Automaton) -> Automaton {
        let mut product = Product {
            a,
            b,
            states: States::default(),
            known: HashMap::new(),
        };
        let start = product.state(a.start, b.start);
        product.states.finish(start)
    }

    pub(crate) fn start(&self) -> &State {
        self.state(self.start)
    }

    pub(crate) fn after_name(&self, state: &State, name: &str) -> &State {
        self.state(state.after_name(name))
    }

    pub(crate) fn after_element(&self, state: &State) -> &State {
        self.state(state.element)
    }

    fn state(&self, id: StateId) -> &State {
        &self.states[id.0]
    }
}

impl State {
    fn after_name(&self, name: &str) -> StateId {
        match self
            .names
            .binary_search_by(|(known, _)| order(known).cmp(&order(name)))
        {
            Ok(index) => self.names[index].1,
            Err(_) => self.rest,
        }
    }
}

/// Compares by length first, because most names differ in length.
fn order(name: &str) -> (usize, &str) {
    (name.len(), name)
}

/// Properties that consistent mode indexes regardless of the policy's paths.
const ALWAYS_INDEXED: [&str; 2] = ["id", "_ts"];

/// The paths of a policy as a tree.
#[derive(Debug, Default)]
struct Node {
    /// The rule of policy paths that end here and select this path alone (`/?`).
    scalar: PathRule,
    /// The rule of policy paths that end here and select this path with everything below it (`/*`).
    subtree: PathRule,
    names: BTreeMap<String, Node>,
    element: Option<Box<Node>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct PathRule {
    included: bool,
    excluded: bool,
    geometries: Option<Grid>,
}

impl Node {
    fn add(&mut self, path: &IndexPath, set: impl Fn(&mut PathRule)) {
        let end = path
            .steps()
            .iter()
            .fold(self, |node, step| node.child(step.clone()));
        match path.scope() {
            IndexScope::Scalar => set(&mut end.scalar),
            IndexScope::Subtree => set(&mut end.subtree),
            IndexScope::Tuple(members) => {
                for names in members {
                    let member = names.iter().fold(&mut *end, |node, name| {
                        node.child(IndexStep::Property(name.clone()))
                    });
                    set(&mut member.scalar);
                }
            }
        }
    }

    fn child(&mut self, step: IndexStep) -> &mut Node {
        match step {
            IndexStep::Property(name) => self.names.entry(name).or_default(),
            IndexStep::Elements => self.element.get_or_insert_default(),
        }
    }
}

impl PathRule {
    /// The indexes at a path whose most specific rule is this one. Where the rule is silent,
    /// `otherwise` applies: the indexes inherited from the path above.
    fn apply(&self, otherwise: PathIndexes) -> PathIndexes {
        PathIndexes {
            values: match (self.included, self.excluded) {
                (false, false) => otherwise.values,
                (included, excluded) => included && !excluded,
            },
            geometries: self.geometries.or(otherwise.geometries),
        }
    }
}

#[derive(Default)]
struct States {
    states: Vec<State>,
}

impl States {
    /// Adds the states of a node and its descendants, and returns the state of the node. `above`
    /// are the indexes that the node inherits.
    fn resolve(&mut self, node: &Node, above: PathIndexes) -> StateId {
        let below = node.subtree.apply(above);
        let rest = self.add_loop(below);
        let element = match &node.element {
            Some(element) => self.resolve(element, below),
            None => rest,
        };
        let names = node
            .names
            .iter()
            .map(|(name, child)| (name.as_str().into(), self.resolve(child, below)))
            .collect();
        self.add(node.scalar.apply(below), names, element, rest)
    }

    /// Adds a state whose every transition leads to itself.
    fn add_loop(&mut self, holds: PathIndexes) -> StateId {
        let itself = StateId(self.states.len());
        self.add(holds, Vec::new(), itself, itself)
    }

    fn add(
        &mut self,
        holds: PathIndexes,
        mut names: Vec<(Box<str>, StateId)>,
        element: StateId,
        rest: StateId,
    ) -> StateId {
        names.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
        self.states.push(State {
            indexes: holds,
            names,
            element,
            rest,
            is_dead: false,
        });
        StateId(self.states.len() - 1)
    }

    /// Marks the dead states. Every state is added after the states that it leads to, so one pass
    /// in order suffices.
    fn finish(mut self, start: StateId) -> Automaton {
        for index in 0..self.states.len() {
            let state = &self.states[index];
            let is_dead = |next: StateId| next.0 == index || self.states[next.0].is_dead;
            let is_dead = state.indexes == PathIndexes::default()
                && state.names.iter().all(|(_, next)| is_dead(*next))
                && is_dead(state.element)
                && is_dead(state.rest);
            self.states[index].is_dead = is_dead;
        }
        Automaton {
            states: self.states,
            start,
        }
    }
}

struct Product<'a> {
    a: &'a Automaton,
    b: &'a Automaton,
    states: States,
    known: HashMap<(StateId, StateId), StateId>,
}

impl Product<'_> {
    fn state(&mut self, a: StateId, b: StateId) -> StateId {
        if let Some(known) = self.known.get(&(a, b)) {
            return *known;
        }
        let (x, y) = (self.a.state(a), self.b.state(b));
        let holds = PathIndexes {
            values: x.indexes.values && y.indexes.values,
            geometries: x
                .indexes
                .geometries
                .filter(|_| x.indexes.geometries == y.indexes.geometries),
        };
        // Two loop states would recurse for ever, and their product is a loop state as well.
        let id = if x.rest == a && y.rest == b {
            self.states.add_loop(holds)
        } else {
            let rest = self.state(x.rest, y.rest);
            let element = self.state(x.element, y.element);
            let names = x.names.iter().chain(&y.names).map(|(name, _)| name);
            let mut names: Vec<(Box<str>, StateId)> = names
                .map(|name| {
                    let next = self.state(x.after_name(name), y.after_name(name));
                    (name.clone(), next)
                })
                .collect();
            names.sort();
            names.dedup();
            self.states.add(holds, names, element, rest)
        };
        self.known.insert((a, b), id);
        id
    }
}
