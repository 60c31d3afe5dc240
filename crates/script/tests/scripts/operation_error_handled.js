function () {
    __.createDocument(__.getSelfLink(), { id: '1' });
    __.createDocument(__.getSelfLink(), { id: '1' }, function (err) {
        __.response.setBody(err);
    });
}
