// {"arguments": ["so", 1, {"a": [1]}, null, true], "headers": {"x-ms-version": "2018-12-31"}}
function (a, b, c, d, e) {
    var response = getContext().getResponse();
    var request = getContext().getRequest();
    var seen = [response.getBody() === undefined];
    response.setBody('a' + a);
    seen.push(response.getBody(), response.getValue('Body'), response.getValue('body'));
    response.appendBody(1);
    seen.push(response.getBody());
    response.setValue('Body', { x: 1 });
    response.appendValue('Body', { y: 2 });
    seen.push(response.getBody());
    seen.push(request.getBody(), request.getValue('x-ms-version'), request.getValue('X-MS-Version'),
        request.getValue('nothing') === undefined);
    seen.push(typeof request.setBody, typeof request.getOperationType, typeof response.getMaxResourceQuota);
    [
        function () { request.setValue('Body', 1); },
        function () { request.setValue('x-ms-version', 1); },
        function () { request.setValue('x-new', 1); },
        function () { response.appendValue('x-new', 1); },
    ].forEach(function (attempt) {
        try { attempt(); seen.push('no error'); } catch (e) { seen.push([e.number, e.message]); }
    });
    seen.push(arguments.length, b, c, d, e);
    response.setBody(seen);
}
