//! Which parts of a document someone will read: a tree of property names and array elements.

use std::borrow::Cow;

/// One step towards a value that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldStep<'a> {
    Name(Cow<'a, str>),
    /// Every element of an array.
    Element,
}

/// The parts of a value that are wanted. At first nothing is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    root: Node,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) is_whole: bool,
    pub(crate) names: Vec<(String, Node)>,
    /// That they are there, and where, is wanted even if nothing in them is.
    pub(crate) elements: Option<Box<Node>>,
}

pub(crate) static WHOLE: Node = Node {
    is_whole: true,
    names: Vec::new(),
    elements: None,
};

impl Fields {
    /// Wants the value at the end of `steps` with all that is in it; no steps want everything.
    pub fn want<'a>(&mut self, steps: impl IntoIterator<Item = FieldStep<'a>>) {
        if let Some(node) = self.root.reach(steps) {
            *node = WHOLE.clone();
        }
    }

    /// Wants to know how many elements the array at the end of `steps` has.
    pub fn want_length<'a>(&mut self, steps: impl IntoIterator<Item = FieldStep<'a>>) {
        if let Some(node) = self.root.reach(steps) {
            node.elements.get_or_insert_default();
        }
    }

    pub fn is_whole(&self) -> bool {
        self.root.is_whole
    }

    /// Whether nothing at all is wanted.
    pub fn is_empty(&self) -> bool {
        self.root == Node::default()
    }

    /// The names that lead to the value, when that value is all that is wanted.
    pub fn only_path(&self) -> Option<Vec<&str>> {
        let mut path = Vec::new();
        let mut node = &self.root;
        while !node.is_whole {
            match (node.names.as_slice(), &node.elements) {
                ([(name, child)], None) => {
                    path.push(name.as_str());
                    node = child;
                }
                _ => return None,
            }
        }
        Some(path)
    }

    pub(crate) fn root(&self) -> &Node {
        &self.root
    }
}

impl Node {
    /// The node at the end of `steps`, made if need be; none if a whole one stands before it.
    fn reach<'a>(&mut self, steps: impl IntoIterator<Item = FieldStep<'a>>) -> Option<&mut Node> {
        let mut node = self;
        for step in steps {
            if node.is_whole {
                return None;
            }
            node = match step {
                FieldStep::Element => node.elements.get_or_insert_default(),
                FieldStep::Name(name) => {
                    let known = node.names.iter().position(|(known, _)| *known == name);
                    let index = known.unwrap_or_else(|| {
                        node.names.push((name.into_owned(), Node::default()));
                        node.names.len() - 1
                    });
                    &mut node.names[index].1
                }
            };
        }
        (!node.is_whole).then_some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(paths: &[&str]) -> Fields {
        let mut fields = Fields::default();
        for path in paths {
            fields.want(path.split('.').filter(|step| !step.is_empty()).map(|step| {
                if step == "[]" {
                    FieldStep::Element
                } else {
                    FieldStep::Name(step.into())
                }
            }));
        }
        fields
    }

    #[test]
    fn the_whole_swallows_its_parts() {
        assert_eq!(fields(&["a.b", "a", "a.c"]), fields(&["a"]));
        assert_eq!(fields(&["a.b", ""]), fields(&[""]));
        assert!(fields(&["a", ""]).is_whole());
    }

    #[test]
    fn one_path_alone() {
        for (paths, expected) in [
            (&["a.b"][..], Some(vec!["a", "b"])),
            (&["a", "a.b"], Some(vec!["a"])),
            (&["a", "b"], None),
            (&["a.[]"], None),
            (&[], None),
        ] {
            assert_eq!(fields(paths).only_path(), expected, "{paths:?}");
        }
    }
}
