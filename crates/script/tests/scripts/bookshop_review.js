// {"kind": "pre", "operation": "Create", "body": {"id": "r2", "type": "review", "book": "b9"}, "documents": [{"id": "b1", "type": "book"}]}
function reviewNeedsBook() {
    var request = getContext().getRequest();
    var collection = getContext().getCollection();
    var review = request.getBody();
    collection.readDocument(collection.getAltLink() + '/docs/' + review.book, function (err, book) {
        if (err) throw new Error(err.number, 'there is no book ' + review.book + ' to review');
        review.checked = true;
        request.setBody(review);
    });
}
