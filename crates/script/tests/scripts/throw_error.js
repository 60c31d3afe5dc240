function () {
    __.createDocument(__.getSelfLink(), { id: '1' });
    function inner() { throw new Error('no such book'); }
    inner();
}
