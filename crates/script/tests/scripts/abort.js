function () {
    __.createDocument(__.getSelfLink(), { id: '1' });
    try { getContext().abort('enough'); } catch (e) { }
    __.response.setBody('never seen');
}
