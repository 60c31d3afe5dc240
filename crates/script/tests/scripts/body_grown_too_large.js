function () {
    var body = [];
    __.response.setBody(body);
    body.push('x'.repeat(5000000));
}
