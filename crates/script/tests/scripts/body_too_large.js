function () {
    try {
        __.response.setBody('x'.repeat(5000000));
    } catch (e) {
        __.response.setBody([e.number, e.message]);
    }
}
