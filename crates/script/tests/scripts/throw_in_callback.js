// {"documents": [{"id": "1"}]}
function () {
    __.createDocument(__.getSelfLink(), { id: '2' }, function (err, doc) {
        throw 'plain text';
    });
}
