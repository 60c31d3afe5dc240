// {"arguments": ["b1"], "documents": [{"id": "a1", "type": "author", "books": 2}, {"id": "b1", "type": "book", "author": "a1"}, {"id": "b2", "type": "book", "author": "a1"}, {"id": "r1", "type": "review", "book": "b1"}]}
function remove(bookId) {
    var collection = getContext().getCollection();
    var docs = collection.getAltLink() + '/docs/';
    collection.readDocument(docs + bookId, function (err, book) {
        if (err) throw err;
        collection.deleteDocument(book._self, { etag: book._etag }, function (err) {
            if (err) throw err;
            collection.readDocument(docs + book.author, function (err, author) {
                if (err) throw err;
                author.books -= 1;
                collection.replaceDocument(author._self, author, function (err, author) {
                    if (err) throw err;
                    removeReviews(author.books);
                });
            });
        });
    });

    function removeReviews(books) {
        var query = { query: 'SELECT * FROM c WHERE c.book = @book', parameters: [{ name: '@book', value: bookId }] };
        collection.queryDocuments(collection.getSelfLink(), query, function (err, reviews) {
            if (err) throw err;
            reviews.forEach(function (review) { collection.deleteDocument(review._self); });
            getContext().getResponse().setBody({ books: books, reviews: reviews.length });
        });
    }
}
