async function () {
    __.createDocument(__.getSelfLink(), { id: '1' });
    try {
        await Promise.reject(new Error(409, 'not good'));
    } catch (e) {
        getContext().abort(e);
    }
}
