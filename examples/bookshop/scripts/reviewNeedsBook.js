// A pre-trigger for creates: refuses a review of a book that does not exist.
function reviewNeedsBook() {
  const shop = getContext().getCollection();
  const request = getContext().getRequest();
  const review = request.getBody();
  const bookLink = `${shop.getAltLink()}/docs/${review.book}`;
  const isAccepted = shop.readDocument(bookLink, (error, book) => {
    if (error) throw new Error(error.number, `there is no book ${review.book}`);
    request.setBody(Object.assign(review, { type: "review", title: book.title }));
  });
  if (!isAccepted) throw new Error(429, "no time left");
}
