//! The parts of a document that a reader needs: a tree of property names and array elements.

use std::borrow::Cow;

/// One step of a path to a needed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldStep<'a> {
    Name(Cow<'a, str>),
    /// Every element of an array.
    Element,
}

/// The set of needed parts of a value, initially empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldMask {
    root: Node,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) is_whole: bool,
    pub(crate) names: Vec<(String, Node)>,
    /// Present when the reader needs the length of the array, even if it needs no element's value.
    pub(crate) elements: Option<Box<Node>>,
}

pub(crate) static WHOLE: Node = Node {
    is_whole: true,
    names: Vec::new(),
    elements: None,
};

impl FieldMask {
    /// Adds the value at the end of `steps` with all its contents. An empty path adds the whole
    /// document.
    pub fn include<'a>(&mut self, steps: impl IntoIterator<Item = FieldStep<'a>>) {
        if let Some(node) = self.root.reach(steps) {
            *node = WHOLE.clone();
        }
    }

    /// Adds the length of the array at the end of `steps`.
    pub fn include_length<'a>(&mut self, steps: impl IntoIterator<Item = FieldStep<'a>>) {
        if let Some(node) = self.root.reach(steps) {
            node.elements.get_or_insert_default();
        }
    }

    pub fn is_whole(&self) -> bool {
        self.root.is_whole
    }

    /// Whether the mask needs no part of the document.
    pub fn is_empty(&self) -> bool {
        self.root == Node::default()
    }

    /// The property names that lead to the only needed value. `None` when the mask has several
    /// values or an array step.
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
    /// The node at the end of `steps`, created if missing. `None` if the mask already includes the
    /// node as part of a whole value.
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

    fn fields(paths: &[&str]) -> FieldMask {
        let mut fields = FieldMask::default();
        for path in paths {
            fields.include(path.split('.').filter(|step| !step.is_empty()).map(|step| {
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
    fn including_a_value_replaces_its_parts() {
        assert_eq!(fields(&["a.b", "a", "a.c"]), fields(&["a"]));
        assert_eq!(fields(&["a.b", ""]), fields(&[""]));
        assert!(fields(&["a", ""]).is_whole());
    }

    #[test]
    fn only_path_is_given_for_a_single_value() {
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
