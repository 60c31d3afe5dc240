async function () {
    __.createDocument(__.getSelfLink(), { id: '1' });
    __.response.setBody('kept');
    throw new Error('only a rejection');
}
