function () {
    __.createDocument(__.getSelfLink(), { id: '1' });
    try { __.readDocument(__.getAltLink() + '/docs/2'); } catch (e) { }
}
