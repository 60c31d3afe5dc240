// A stored procedure: removes a book with its reviews and no longer counts it, or does none of it.
function removeBook(bookId) {
  const shop = getContext().getCollection();
  const docs = `${shop.getAltLink()}/docs/`;

  queued(shop.readDocument(docs + bookId, deleteBook));

  function deleteBook(error, book) {
    if (error) throw new Error(error.number, `there is no book ${bookId}`);
    queued(
      shop.deleteDocument(book._self, { etag: book._etag }, (error) => {
        if (error) throw error;
        queued(shop.readDocument(docs + book.author, uncountBook));
      }),
    );
  }

  function uncountBook(error, author) {
    if (error) throw error;
    author.countOfBooks -= 1;
    queued(shop.replaceDocument(author._self, author, { etag: author._etag }, findReviews));
  }

  function findReviews(error, author) {
    if (error) throw error;
    deleteReviews({ countOfBooks: author.countOfBooks, reviews: 0 });
  }

  // A query answers in pages; the token of one leads to the next.
  function deleteReviews(removed, continuation) {
    const query = {
      query: "SELECT * FROM c WHERE c.type = 'review' AND c.book = @book",
      parameters: [{ name: "@book", value: bookId }],
    };
    queued(
      shop.queryDocuments(shop.getSelfLink(), query, { continuation }, (error, reviews, page) => {
        if (error) throw error;
        for (const review of reviews) queued(shop.deleteDocument(review._self));
        removed.reviews += reviews.length;
        if (page.continuation) deleteReviews(removed, page.continuation);
        else getContext().getResponse().setBody(removed);
      }),
    );
  }

  // What is not queued never happens, so the whole has to be given up.
  function queued(isAccepted) {
    if (!isAccepted) throw new Error(429, "no time left");
  }
}
