// {"arguments": ["b2", "a9"], "documents": [{"id": "a1", "type": "author", "books": 1}, {"id": "b1", "type": "book", "author": "a1"}]}
function publish(bookId, authorId) {
    var collection = getContext().getCollection();
    var author = collection.getAltLink() + '/docs/' + authorId;
    var accepted = collection.readDocument(author, function (err, author) {
        if (err) throw new Error(err.number, 'no author ' + authorId);
        author.books += 1;
        queued(collection.replaceDocument(author._self, author, { etag: author._etag }, function (err, author) {
            if (err) throw err;
            var book = { id: bookId, type: 'book', author: authorId };
            queued(collection.createDocument(collection.getSelfLink(), book, function (err, book) {
                if (err) throw err;
                getContext().getResponse().setBody({ book: book.id, books: author.books });
            }));
        }));
    });
    queued(accepted);

    function queued(accepted) {
        if (!accepted) throw new Error(429, 'no time left');
    }
}
