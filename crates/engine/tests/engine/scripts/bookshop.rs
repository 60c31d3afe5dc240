//! The bookshop of the guides: a book and its author's count change atomically.

use orrery_engine::{ScriptKind, TriggerNames};
use orrery_model::{ConsistencyLevel, Failure};

use super::KEY;
use crate::support::{World, create, pk, property};

const PUBLISH: &str = "function publish(book) {
    const shop = getContext().getCollection(), link = shop.getSelfLink();
    book.type = 'book';
    book.p = 'a';
    const author = shop.getAltLink() + '/docs/' + book.author;
    const accepted = shop.readDocument(author, (error, author) => {
        if (error) throw new Error('unknown author: ' + error.number);
        shop.createDocument(link, book, (error, created) => {
            if (error) throw error;
            author.books = (author.books || 0) + 1;
            shop.replaceDocument(author._self, author, {etag: author._etag}, error => {
                if (error) throw error;
                getContext().getResponse().setBody({id: created.id, books: author.books});
            });
        });
    });
    if (!accepted) throw new Error('try again');
}";

const REMOVE: &str = "function remove(id) {
    const text = {query: 'SELECT * FROM c WHERE c.id = @id', parameters: [{name: '@id', value: id}]};
    __.queryDocuments(__.getSelfLink(), text, (error, books) => {
        if (error) throw error;
        if (books.length !== 1) throw new Error('no such book');
        __.deleteDocument(books[0]._self, {etag: books[0]._etag});
        __.readDocument(__.getAltLink() + '/docs/' + books[0].author, (error, author) => {
            if (error) throw error;
            author.books -= 1;
            __.replaceDocument(author._self, author);
        });
    });
}";

const REVIEW: &str = "function () {
    const review = getContext().getRequest().getBody();
    const found = __.filter(doc => doc.type === 'book' && doc.id === review.book, (error, books) => {
        if (error) throw error;
        if (books.length === 0) throw new Error('no such book: ' + review.book);
    });
    if (!found.isAccepted) throw new Error('try again');
}";

#[tokio::test]
async fn books_and_counts_agree() {
    let world = World::in_memory().await;
    let container = world.container("c", "").await;
    world
        .ok(
            &container,
            KEY,
            create(r#"{"id":"lem","p":"a","type":"author"}"#),
        )
        .await;
    let kind = ScriptKind::StoredProcedure;
    let publish = world.register(kind, "publish", PUBLISH).await;
    let remove = world.register(kind, "remove", REMOVE).await;
    world
        .register_trigger("review", "Pre", "Create", REVIEW)
        .await;

    let solaris = r#"[{"id":"solaris","author":"lem"}]"#;
    let first = world
        .execute(&container, &publish, solaris)
        .await
        .result
        .unwrap();
    assert_eq!(first.body.as_deref(), Some(r#"{"id":"solaris","books":1}"#));
    let second = r#"[{"id":"eden","author":"lem"}]"#;
    world
        .execute(&container, &publish, second)
        .await
        .result
        .unwrap();
    // A second publication, and one without an author, change neither the book nor the count.
    let twice = world
        .execute(&container, &publish, solaris)
        .await
        .result
        .unwrap_err();
    assert!(
        matches!(
            twice,
            Failure::Script {
                number: Some(409),
                ..
            }
        ),
        "{twice:?}"
    );
    let nobody = r#"[{"id":"ghost","author":"nobody"}]"#;
    world
        .execute(&container, &publish, nobody)
        .await
        .result
        .unwrap_err();
    let books = |world: &World| {
        let author = world.read(&container, KEY, "lem").unwrap();
        property(&author, "books")
    };
    assert_eq!(books(&world), 2_i64.into());
    assert!(world.read(&container, KEY, "ghost").is_err());

    let review = |book: &str| create(&format!(r#"{{"id":"r-{book}","p":"a","book":"{book}"}}"#));
    let triggers = TriggerNames {
        pre: vec!["review".to_owned()],
        ..TriggerNames::default()
    };
    for (book, is_known) in [("solaris", true), ("dune", false)] {
        let level = ConsistencyLevel::Session;
        let engine = &world.engine;
        let written =
            engine.write_item_with_triggers(&container, pk(KEY), review(book), &triggers, level);
        assert_eq!(written.await.result.is_ok(), is_known, "{book}");
    }

    world
        .execute(&container, &remove, r#"["solaris"]"#)
        .await
        .result
        .unwrap();
    assert_eq!(books(&world), 1_i64.into());
    world
        .execute(&container, &remove, r#"["solaris"]"#)
        .await
        .result
        .unwrap_err();
    assert_eq!(books(&world), 1_i64.into());
}
