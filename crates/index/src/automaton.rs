//! The paths of a policy as an automaton over the steps of a document.
//!
//! Each state knows what holds at its place, so that a walk over a document decides one step at a
//! time and never looks at the list of paths. Places that no path names share the state of what
//! holds below the deepest path that has them, its rest.

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

/// One place, or many alike.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) holds: Holds,
    /// Sorted by name.
    names: Vec<(Box<str>, StateId)>,
    element: StateId,
    /// After a name that is not in `names`.
    rest: StateId,
    /// Nothing holds here or further down.
    pub(crate) is_dead: bool,
}

/// What an index has of the values at a place.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Holds {
    pub(crate) values: bool,
    pub(crate) geometries: Option<Grid>,
}

impl Automaton {
    /// Agrees with [`IndexingPolicy::covers`] on values at every place of a consistent policy.
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
        for name in ALWAYS_INDEXED {
            root.child(IndexStep::Property(name.to_owned())).scalar = Rule {
                included: true,
                ..Rule::default()
            };
        }
        let mut states = States::default();
        let start = states.resolve(&root, Holds::default());
        states.finish(start)
    }

    /// Holds what both hold.
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

/// By length first: most names differ there.
fn order(name: &str) -> (usize, &str) {
    (name.len(), name)
}

/// Indexed in consistent mode whatever the paths say.
const ALWAYS_INDEXED: [&str; 2] = ["id", "_ts"];

/// The paths of a policy as a tree.
#[derive(Debug, Default)]
struct Node {
    /// Of the paths that end here and mean this place alone.
    scalar: Rule,
    /// Of the paths that end here and mean everything at and below it.
    subtree: Rule,
    names: BTreeMap<String, Node>,
    element: Option<Box<Node>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Rule {
    included: bool,
    excluded: bool,
    geometries: Option<Grid>,
}

impl Node {
    fn add(&mut self, path: &IndexPath, set: impl Fn(&mut Rule)) {
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

impl Rule {
    /// What holds where this rule is the closest, above which `otherwise` holds.
    fn apply(&self, otherwise: Holds) -> Holds {
        Holds {
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
    /// The state of a node, below a place with these rules for everything below.
    fn resolve(&mut self, node: &Node, above: Holds) -> StateId {
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

    /// A state that stays itself.
    fn add_loop(&mut self, holds: Holds) -> StateId {
        let itself = StateId(self.states.len());
        self.add(holds, Vec::new(), itself, itself)
    }

    fn add(
        &mut self,
        holds: Holds,
        mut names: Vec<(Box<str>, StateId)>,
        element: StateId,
        rest: StateId,
    ) -> StateId {
        names.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
        self.states.push(State {
            holds,
            names,
            element,
            rest,
            is_dead: false,
        });
        StateId(self.states.len() - 1)
    }

    /// States come after all that they lead to, so that one pass finds the dead ones.
    fn finish(mut self, start: StateId) -> Automaton {
        for index in 0..self.states.len() {
            let state = &self.states[index];
            let is_dead = |next: StateId| next.0 == index || self.states[next.0].is_dead;
            let is_dead = state.holds == Holds::default()
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
        let holds = Holds {
            values: x.holds.values && y.holds.values,
            geometries: x
                .holds
                .geometries
                .filter(|_| x.holds.geometries == y.holds.geometries),
        };
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
